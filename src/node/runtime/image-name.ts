/**
 * Names of images, as container engines read them: `nginx` is `docker.io/library/nginx:latest`. A name may end with a
 * digest instead of, or behind, its tag.
 */

export interface ImageName {
  /** Host of the registry, with its port: `docker.io`, `127.0.0.1:5000`. */
  readonly registry: string;
  /** Path below the registry: `library/nginx`. */
  readonly path: string;
  readonly tag: string | undefined;
  /** Such as `sha256:…`. */
  readonly digest: string | undefined;
}

const nameCharsMax = 255;
const component = /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*$/;
const host =
  /^(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*|\[[0-9a-fA-F:]+\])(?::\d{1,5})?$/;
const tagForm = /^\w[\w.-]{0,127}$/;
const digestForm = /^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$/;

/** Parses a name; undefined when no registry can have it. */
export function parseImageName(text: string): ImageName | undefined {
  const at = text.indexOf('@');
  const digest = at < 0 ? undefined : text.slice(at + 1);
  const rest = at < 0 ? text : text.slice(0, at);
  if (digest !== undefined && !digestForm.test(digest)) return undefined;
  const colon = rest.lastIndexOf(':');
  const hasTag = colon > rest.lastIndexOf('/');
  const tag = hasTag ? rest.slice(colon + 1) : undefined;
  if (tag !== undefined && !tagForm.test(tag)) return undefined;
  const name = hasTag ? rest.slice(0, colon) : rest;
  const slash = name.indexOf('/');
  const first = slash < 0 ? '' : name.slice(0, slash);
  const isHost = /[.:]/.test(first) || first === 'localhost' || first !== first.toLowerCase();
  const registry = isHost ? first.replace(/^index\.docker\.io$/, 'docker.io') : 'docker.io';
  const given = isHost ? name.slice(slash + 1) : name;
  const path = registry === 'docker.io' && !given.includes('/') ? `library/${given}` : given;
  if (!host.test(registry) || name.length > nameCharsMax) return undefined;
  if (!path.split('/').every((part) => component.test(part))) return undefined;
  return { registry, path, tag, digest };
}

/** The repository: registry and path. */
export const repositoryOf = ({ registry, path }: ImageName): string => `${registry}/${path}`;

/** The reference to pull: by digest if there is one, because its tag may have moved. */
export const referenceOf = (name: ImageName): string =>
  name.digest ? `${repositoryOf(name)}@${name.digest}` : `${repositoryOf(name)}:${name.tag ?? 'latest'}`;

/** `Always` for an image without a tag and a digest, or with the tag `latest`; else `IfNotPresent`. */
export function pullPolicyOf(name: ImageName, given: string | undefined): string {
  if (given) return given;
  return (name.tag ?? 'latest') === 'latest' && !name.digest ? 'Always' : 'IfNotPresent';
}
