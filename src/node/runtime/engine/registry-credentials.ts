/**
 * Credentials for registries, from the secrets that a pod names: `kubernetes.io/dockerconfigjson` and the older
 * `kubernetes.io/dockercfg`. A key is a host with or without a path; `*` stands for one label of a host. The longest
 * path that fits is tried first.
 */
import { createHash } from 'node:crypto';
import type { Secret } from '../../../api/generated/types.ts';
import { isJsonObject } from '../../../api/text/object.ts';
import type { ImageName } from '../image-name.ts';

export interface Credentials {
  readonly username: string;
  readonly password: string;
  readonly identityToken?: string;
}

/** A hash to compare the credentials of two pods without storing them. */
export const credentialsHash = ({ username, password, identityToken }: Credentials): string =>
  createHash('sha256')
    .update(JSON.stringify([username, password, identityToken]))
    .digest('hex');

interface Entry {
  readonly host: string;
  readonly path: string;
  readonly credentials: Credentials;
}

/** The credentials that fit an image, best first, each once. */
export function credentialsFor(name: ImageName, secrets: readonly Secret[]): Credentials[] {
  const entries = secrets.flatMap(entriesOf).filter((entry) => fits(entry, name));
  entries.sort((a, b) => b.path.length - a.path.length || b.host.length - a.host.length);
  return [...new Map(entries.map(({ credentials }) => [credentialsHash(credentials), credentials])).values()];
}

function entriesOf({ type, data = {} }: Secret): Entry[] {
  const key = type === 'kubernetes.io/dockercfg' ? '.dockercfg' : '.dockerconfigjson';
  let content: unknown;
  try {
    content = JSON.parse(Buffer.from(data[key] ?? '', 'base64').toString('utf8'));
  } catch {
    return [];
  }
  const auths = key === '.dockercfg' || !isJsonObject(content) ? content : content['auths'];
  if (!isJsonObject(auths)) return [];
  return Object.entries(auths).flatMap(([server, entry]) => {
    const credentials = readCredentials(entry);
    return credentials ? [{ ...placeOf(server), credentials }] : [];
  });
}

function readCredentials(entry: unknown): Credentials | undefined {
  if (!isJsonObject(entry)) return undefined;
  const { username, password, auth, identitytoken } = entry;
  const identityToken =
    typeof identitytoken === 'string' && identitytoken ? { identityToken: identitytoken } : {};
  if (typeof username === 'string' && typeof password === 'string')
    return { username, password, ...identityToken };
  if (typeof auth !== 'string') return undefined;
  const [, user = '', secret = ''] =
    /^([^:]*):(.*)$/s.exec(Buffer.from(auth, 'base64').toString('utf8')) ?? [];
  return user ? { username: user, password: withoutZeros(secret), ...identityToken } : undefined;
}

/** Host and path of a key, which may be a URL: `https://index.docker.io/v1/` is Docker Hub. */
function placeOf(server: string): { host: string; path: string } {
  const [host = '', ...parts] = server.replace(/^https?:\/\//, '').split('/');
  const path = parts.filter(Boolean).join('/');
  const isHub = ['index.docker.io', 'registry-1.docker.io', 'docker.io'].includes(host);
  return { host: isHub ? 'docker.io' : host, path: /^v[12]$/.test(path) ? '' : path };
}

function fits({ host, path }: Entry, name: ImageName): boolean {
  if (path && !`${name.path}/`.startsWith(`${path}/`)) return false;
  const [wanted, given] = [name.registry.split(/[.:]/), host.split(/[.:]/)];
  const samePort = portOf(name.registry) === portOf(host);
  return (
    samePort &&
    wanted.length === given.length &&
    given.every((label, i) => fitsPattern(label.toLowerCase(), (wanted[i] ?? '').toLowerCase()))
  );
}

const portOf = (host: string): string => /:(\d+)$/.exec(host)?.[1] ?? '';

function withoutZeros(text: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === '\0') end--;
  return text.slice(0, end);
}

/** Whether a text matches a pattern with stars. Each piece is searched once, at its first occurrence. */
function fitsPattern(pattern: string, text: string): boolean {
  const pieces = pattern.split('*');
  if (pieces.length === 1) return pattern === text;
  const [first, last] = [pieces[0]!, pieces.at(-1)!];
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last))
    return false;
  let at = first.length;
  const end = text.length - last.length;
  for (const piece of pieces.slice(1, -1)) {
    const found = text.indexOf(piece, at);
    if (found < 0 || found + piece.length > end) return false;
    at = found + piece.length;
  }
  return at <= end;
}
