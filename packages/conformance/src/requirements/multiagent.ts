import { requirements } from "../requirement.ts";

/** An agent's `multiagent` (3.1, 3.3). */
export const multiagent = requirements({
  "multiagent.type": ["3.1", "A multiagent of a type that there is not is refused."],
  "multiagent.coordinator.forms": [
    "3.1",
    "A roster entry is an agent's id, a reference with or without a version, or self.",
  ],
  "multiagent.coordinator.resolved": [
    "3.1",
    "A roster comes back as references to concrete versions.",
  ],
  "multiagent.coordinator.pinned": [
    "3.1",
    "An entry without a version is pinned to the latest one when it is saved.",
  ],
  "multiagent.coordinator.min": ["3.1", "A roster has at least one entry."],
  "multiagent.coordinator.max": ["3.1", "A roster has at most 20 entries."],
  "multiagent.quota.roster": ["16", "A roster has 1 to 20 entries."],
  "multiagent.quota.predefined": ["16", "Each of the two lists has up to 20 predefined agents."],
  "multiagent.coordinator.entry": ["3.1", "An entry of another form or type is refused."],
  "multiagent.coordinator.distinct": [
    "3.1",
    "The agents of a roster are distinct after resolution, whatever their form or version.",
  ],
  "multiagent.coordinator.self": ["3.1", "A roster has at most one self."],
  "multiagent.coordinator.self-version": [
    "3.1",
    "self is the version of the agent that it is part of, also after an update.",
  ],
  "multiagent.coordinator.self-old": [
    "3.1",
    "A reference to an old version of the agent itself stays.",
  ],
  "multiagent.coordinator.advisor": ["3.1", "An advisor comes back with its model."],
  "multiagent.coordinator.advisor-once": ["3.1", "A roster has at most one advisor."],
  "multiagent.coordinator.advisor-model": ["3.1", "An advisor needs a model."],
  "multiagent.coordinator.advisor-name": [
    "3.1",
    "Beside an advisor the roster's name anthropic.advisor is taken.",
  ],
  "multiagent.coordinator.exists": ["3.1", "An agent or version that there is not is refused."],
  "multiagent.coordinator.unarchived": ["3.1", "An archived agent is refused."],
  "multiagent.coordinator.depth": ["3.1", "An agent that has multiagent itself is refused."],
  "multiagent.coordinator.workspace": ["3.1", "An agent of another workspace does not exist."],
  "multiagent.defaults": [
    "3.1",
    "Of multiagent_20261001 subagents and workflows are enabled by default, the advisor is not.",
  ],
  "multiagent.members": ["3.1", "All three members come back, in full."],
  "multiagent.inline-default": ["3.1", "inline_agents are enabled by default."],
  "multiagent.predefined-null": ["3.1", "Null and an empty list are both no predefined agents."],
  "multiagent.predefined-max": ["3.1", "A list has at most 20 predefined agents."],
  "multiagent.predefined-forms": [
    "3.1",
    "A predefined agent is an id, a reference or self, and no advisor.",
  ],
  "multiagent.predefined-resolved": ["3.1", "Predefined agents come back with their versions."],
  "multiagent.predefined-rules": [
    "3.1",
    "Predefined agents are distinct, exist, are unarchived and have no multiagent.",
  ],
  "multiagent.inline-disabled": [
    "3.1",
    "With inline_agents disabled there must be a predefined agent.",
  ],
  "multiagent.lists-independent": ["3.1", "The two lists of predefined agents are independent."],
  "multiagent.disabled": ["3.1", "Each member can be disabled, alone and without other fields."],
  "multiagent.advisor": ["3.1", "An enabled advisor needs a model."],
  "multiagent.null-default": [
    "3.1",
    "A member sent as null takes its default: workflows null enables workflows.",
  ],
  "multiagent.typed": ["3.3", "Every object that is sent needs its type."],
  "multiagent.merge.keep": ["3.3", "A key that an update omits keeps its stored value."],
  "multiagent.merge.null": ["3.3", "A key that an update sends as null takes its default."],
  "multiagent.merge.type": [
    "3.3",
    "An object with another type replaces the stored one, and what it omits takes its default.",
  ],
  "multiagent.merge.list": [
    "3.3",
    "A predefined_agents list that is sent replaces the stored one.",
  ],
  "multiagent.merge.nested": ["3.3", "The merge goes into subagents and workflows."],
  "multiagent.merge.model": ["3.3", "An enabled advisor that is sent needs its model."],
  "multiagent.merge.validated": ["3.3", "Other validation applies to the merged result."],
  "multiagent.merge.no-change": ["3.3", "A merge that changes nothing makes no version."],
  "multiagent.merge.forms": ["3.3", "Between the two types multiagent is replaced whole."],
  "multiagent.merge.gotcha": ["20.14", "multiagent_20261001 merges deeply."],
});
