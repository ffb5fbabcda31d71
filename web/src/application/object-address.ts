/** What names an object in an address. */
export interface ObjectName {
  group: string;
  kind: string;
  namespace: string;
  name: string;
}

/** Write `apps/Deployment/shop/web`; none of the parts can hold a slash. */
export function writeObject({ group, kind, namespace, name }: ObjectName): string {
  return [group, kind, namespace, name].join('/');
}

/** Read it; null: it names none. */
export function readObject(text: string | undefined): ObjectName | null {
  const parts = (text ?? '').split('/');
  const [group = '', kind = '', namespace = '', name = ''] = parts;
  return parts.length === 4 && kind && name ? { group, kind, namespace, name } : null;
}
