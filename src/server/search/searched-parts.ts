/** What an object is found by: its name, labels, images, addresses and uid, read from its text without parsing all of it. */
import type { Entry } from '../../registry/view/entry.ts';

export interface SearchedPart {
  readonly by: 'name' | 'label' | 'image' | 'address' | 'uid';
  readonly text: string;
}

/** Characters that are kept of one object; an object with more images and addresses is found by the first of them. */
const charactersMax = 4_096;

const pairs =
  /"(image|podIP|hostIP|clusterIP|loadBalancerIP|externalName|ip|address|host|hostname)":"([^"\\]{1,253})"|"addresses":\[("[^\]\\]{1,2000})\]/g;

/** The name first, as `namespace/name` where it has a namespace. */
export function searchedParts(entry: Entry): SearchedPart[] {
  const { namespace, name, kind, uid } = entry;
  const parts: SearchedPart[] = [
    { by: 'name', text: namespace ? `${namespace}/${name}` : name },
    { by: 'uid', text: uid },
  ];
  const known = new Set<string>();
  let left = charactersMax;
  const add = (by: SearchedPart['by'], text: string): void => {
    if (known.has(text) || text.length > left) return;
    known.add(text);
    left -= text.length;
    parts.push({ by, text });
  };
  for (const label of labelsIn(entry.metadataText)) add('label', label);
  // Values of secrets are nobody's to find.
  if (kind.group === '' && kind.resource === 'secrets') return parts;
  for (const [, field, value, list] of entry.document.toString('latin1').matchAll(pairs)) {
    if (value !== undefined) add(field === 'image' ? 'image' : 'address', value);
    else for (const each of list!.match(/[^",\s]+/g) ?? []) add('address', each);
  }
  return parts;
}

/** Keys and values of labels hold neither quotes nor braces. */
function labelsIn(metadata: Buffer | undefined): string[] {
  const [, inner] = /"labels":\{([^}]*)\}/.exec(metadata?.toString('latin1') ?? '') ?? [];
  return Array.from(inner?.matchAll(/"([^"]*)":"([^"]*)"/g) ?? [], ([, key, value]) => `${key}=${value}`);
}
