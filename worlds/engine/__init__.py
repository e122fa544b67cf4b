"""What the three worlds share: state, tools, traces, scripted agents, planted habits. Pure; imports nothing of ours."""
