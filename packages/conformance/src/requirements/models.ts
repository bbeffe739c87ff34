import { requirements } from "../requirement.ts";

export const models = requirements({
  "models.object": ["13", "A model says `type: model`, with an id and a display_name."],
  "models.object.created-at": ["13", "created_at is RFC 3339."],
  "models.object.line": ["13", "The key line is there: a known one or null."],
  "models.object.lifecycle": ["13", "lifecycle is active, deprecated or retired."],
  "models.object.dates": [
    "13",
    "deprecated_at and retires_at are times or null, null for active models.",
  ],
  "models.object.limits": ["13", "max_input_tokens and max_tokens are numbers or null."],
  "models.object.fallbacks": ["13", "allowed_fallback_models is a list or null."],
  "models.object.capabilities": ["13", "capabilities is null, or has every known capability."],
  "models.retrieve": ["13", "A model that is listed is retrieved by its id."],
  "models.retrieve.unknown": ["13", "A model that there is not is not found."],
  "models.retrieve.alias": ["13", "An alias is retrieved as the model that it stands for."],
  "models.list.order": ["13", "The newest models come first."],
  "models.list.page": [
    "13",
    "A page has data, has_more, first_id and last_id; the ids are those at its ends.",
  ],
  "models.list.after": ["13", "after_id goes on after a model; each model is seen once."],
  "models.list.before": ["13", "before_id gives the page just before a model."],
  "models.list.end": ["13", "Beyond the last model a page is empty, its ids null."],
  "models.list.bad-position": ["13", "A position that is no model is refused."],
  "models.list.limit": ["13", "A limit below 1 is refused."],
  "models.list.id-scheme": ["20.13", "Models are paged by ids, not by cursors."],
  "models.lifecycle.default": [
    "13",
    "Without lifecycle active and deprecated models are listed, retired ones are not.",
  ],
  "models.lifecycle.filter": ["13", "lifecycle lists models of the named stages only."],
  "models.lifecycle.unknown": ["13", "A lifecycle that there is not is refused."],
  "models.lifecycle.max": ["13", "At most three lifecycles are named."],
});
