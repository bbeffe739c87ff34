/** The place that a secret of a credential is sealed for; `name` is its name on the wire. */
export function secretBinding(
  { workspace_id, id }: { readonly workspace_id: string; readonly id: string },
  name: string,
): string {
  return `${workspace_id}/${id}/${name}`;
}
