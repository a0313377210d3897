/** Names of images, as Docker and Kubernetes read them: `[host[:port]/]path[:tag][@digest]`. */

/** Longer texts are names of nothing. */
const referenceLettersMax = 1024;
const pathLettersMax = 255;

const hostPart = '[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?';
const host = `(?:${hostPart}(?:\\.${hostPart})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const pathPart = '[a-z0-9]+(?:(?:\\.|__?|-+)[a-z0-9]+)*';
const reference = new RegExp(
  `^${host}/(?<path>${pathPart}(?:/${pathPart})*)(?::(?<tag>\\w[\\w.-]{0,127}))?(?:@(?<digest>\\S+))?$`,
);
const digests = /^(?:sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128})$/;
/** Looks like the id of an image, which is not its name. */
const id = /^[0-9a-f]{64}$/;

/** The tag of an image, `latest` if neither tag nor digest is named; undefined for an image by digest, and for no name. */
export function imageTag(image: string): string | undefined {
  if (image.length > referenceLettersMax || id.test(image)) return undefined;
  const { path = '', tag, digest } = reference.exec(withHost(image))?.groups ?? {};
  if (path === '' || path.length > pathLettersMax) return undefined;
  if (digest !== undefined && !digests.test(digest)) return undefined;
  return tag ?? (digest === undefined ? 'latest' : undefined);
}

/** What stands before the first slash is a host if it cannot be a part of a path. */
function withHost(image: string): string {
  const slash = image.indexOf('/');
  const first = image.slice(0, slash);
  const isHost = slash >= 0 && (/[.:]/.test(first) || first === 'localhost' || first !== first.toLowerCase());
  if (isHost) return image;
  return slash >= 0 ? `docker.io/${image}` : `docker.io/library/${image}`;
}
