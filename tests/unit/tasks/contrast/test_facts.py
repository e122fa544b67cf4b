"""What a run did, without what was another run's."""

from tasks.contrast.facts import read_facts
from tasks.ingest.episode import Episode


def test_copied_context_is_not_counted_again() -> None:
    steps = [
        {"id": "1", "kind": "tool_call", "name": "cancel", "is_copied_context": True},
        {
            "id": "2",
            "kind": "observation",
            "of": "1",
            "text": "Error: gone",
            "is_error": True,
            "is_copied_context": True,
        },
        {"id": "3", "kind": "tool_call", "name": "look_up"},
    ]
    facts = read_facts(Episode.model_validate({"task": "t", "steps": steps}))
    assert facts.first == {"look_up": (0, "3")}
    assert not facts.failures


def test_an_agents_tool_cannot_pass_for_the_users_own_call() -> None:
    steps = [
        {"id": "1", "kind": "tool_call", "name": "user:pay"},
        {"id": "2", "kind": "tool_call", "name": "pay", "requestor": "user"},
        {"id": "3", "kind": "tool_call", "name": "agent:user:pay"},
    ]
    facts = read_facts(Episode.model_validate({"task": "t", "steps": steps}))
    assert set(facts.first) == {"agent:user:pay", "user:pay", "agent:agent:user:pay"}
