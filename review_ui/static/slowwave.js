// Small helps. Every page works without them.
"use strict";

// The server writes times in the reader's zone. A browser says once which that is.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (zone && document.body.dataset.zone !== zone) {
  document.cookie = `slowwave_zone=${encodeURIComponent(zone)}; path=/; max-age=31536000; samesite=lax`;
}
