"""The review pages keep what their OpenAPI document promises."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.testclient import TestClient

from support.conforming import Exclusions, Stock, breaches
from support.review_pages import ORIGIN

SPACE = "acme/shop"
ENDING = [("POST", "/logout"), ("POST", "/people/sessions/end-others")]
"""They end the session that the rest is asked with."""
EXCLUDED: Exclusions = {}


def test_every_answer_is_one_that_the_document_promises(pages_app: FastAPI, stock: Stock, cookie: str) -> None:
    there = {
        "namespace": SPACE, "rule_id": stock.rule_id, "candidate_id": stock.candidate_id,
        "episode_id": stock.episode_id, "number": 1, "version": 1,
    }  # fmt: skip
    headers = {"Cookie": cookie, "Origin": ORIGIN}
    found = breaches(pages_app, headers=headers, excluded=EXCLUDED, parameters=there, left_out=ENDING, by_cookie=True)
    assert not found, "\n".join(found)


def test_whoever_is_not_logged_in_is_sent_to_the_login_page_from_every_address_that_says_so(pages_app: FastAPI) -> None:
    browser = TestClient(pages_app, base_url=ORIGIN, headers={"origin": ORIGIN}, follow_redirects=False)
    document = pages_app.openapi()
    asked = 0
    for path, methods in document["paths"].items():
        address = path.replace("{number}", "1").replace("{version}", "1").replace("{epoch}", "1")
        for method, operation in methods.items():
            if operation.get("security", document["security"]):
                answer = browser.request(method, address.replace("{", "").replace("}", ""), data={"namespace": SPACE})
                assert (answer.status_code, answer.headers["location"][:6]) == (303, "/login"), (method, path)
                asked += 1
    assert asked > 40
