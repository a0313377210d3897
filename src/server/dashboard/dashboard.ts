/**
 * The dashboard: a web page that shows the cluster, served at `/ui/…` and, for browsers, at `/`. Its files are public
 * and contain no data of the cluster, so they are served without credentials; the page reads all data from the API, as
 * its user. The files are built from `web/` into a folder beside the bundle, have a hash in their names and are stored
 * compressed.
 */
import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { brotliCompress, brotliDecompress, constants } from 'node:zlib';
import { answerText } from '../http/answer.ts';
import type { Headers, RequestContext } from '../http/context.ts';

const types: ReadonlyMap<string, string> = new Map([
  ['js', 'text/javascript; charset=utf-8'],
  ['svg', 'image/svg+xml'],
]);

/**
 * Placeholder for the nonce, which is new in every answer: only style sheets with it are applied, so only those of the
 * dashboard and its libraries.
 */
const noncePlace = '{{nonce}}';
const nonceBytes = 16;
/** Placeholder for the relative path from the page to the dashboard's files. */
const filesPlace = '{{ui}}';
/** Folders in the path of a page. Views have fewer than ten. */
const foldersMax = 64;

/**
 * The folder into which the build puts the files, beside the bundle. It does not exist when the sources run unbuilt.
 */
const builtFolder = new URL('./ui/', import.meta.url);

const inflate = promisify(brotliDecompress);
const deflate = promisify(brotliCompress);
/** The page is compressed for each answer, because its nonce is new: a fraction of a millisecond for a quarter of the bytes. */
const pageCompression = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };

export class Dashboard {
  #files: Promise<ReadonlyMap<string, Buffer>> | undefined;

  constructor(private readonly folder: URL = builtFolder) {}

  /** Whether a request is for the dashboard: by its path or, at `/`, because a browser shows the answer to a person. */
  isFor({ info, request }: RequestContext): boolean {
    return info.page === 'ui' || (info.page === 'root' && prefersHtml(request.headers.accept));
  }

  async answer(context: RequestContext): Promise<void> {
    const files = await this.#load();
    const { path, sentPath, queryText } = context.info;
    // A relative redirect, because a proxy may serve all paths below a prefix that is unknown here.
    if (sentPath === '/ui') return sendTo(context, `ui/${queryText && `?${queryText}`}`);
    const name = path.startsWith('/ui/') ? path.slice('/ui/'.length) : '';
    const file = files.get(`${name}.br`);
    if (file) return sendFile(context, name, file);
    const page = files.get('index.html');
    // Answer 404 for a file of a former build. A view may end in .js, too, but contains a slash:
    // object/configmaps/default/a.js.
    if (!page || /^[^/]+\.(?:js|svg)$/.test(name)) return answerText(context, 404, '404 page not found\n');
    const way = wayToFiles(context.request.url!);
    if (way === undefined) return answerText(context, 404, '404 page not found\n');
    await sendPage(context, page.toString('utf8').replaceAll(filesPlace, way));
  }

  /** Reads all files at the first request; they stay in memory, compressed. */
  #load(): Promise<ReadonlyMap<string, Buffer>> {
    this.#files ??= this.#read().catch((error: unknown) => {
      this.#files = undefined;
      throw error;
    });
    return this.#files;
  }

  async #read(): Promise<ReadonlyMap<string, Buffer>> {
    const names = await readdir(this.folder).catch(() => []);
    const read = async (name: string) => [name, await readFile(new URL(name, this.folder))] as const;
    return new Map(await Promise.all(names.map(read)));
  }
}

/**
 * The relative path from the page to the dashboard's files: `ui/` from `/`, and one folder up for each slash behind
 * `/ui/`. Encoded slashes do not count, because browsers do not treat them as folders. Undefined for paths that are deeper
 * than any view: the page repeats the way many times, and would grow to megabytes.
 */
function wayToFiles(url: string): string | undefined {
  const folders = url
    .replace(/[?#].*$/s, '')
    .split('/', foldersMax + 3)
    .slice(2);
  if (folders.length > foldersMax) return undefined;
  return folders.length === 0 ? 'ui/' : '../'.repeat(folders.length - 1) || './';
}

/** Whether HTML comes before JSON in the list of accepted types: browsers say so, API clients do not. */
const prefersHtml = (accept: string | undefined): boolean =>
  accept !== undefined &&
  /(?:^|,)\s*text\/html\s*(?:,|$)/.test(accept) &&
  !/^\s*application\/json/.test(accept);

/** Answers with a file. Browsers may cache it for ever, because its name changes with its contents. */
async function sendFile(context: RequestContext, name: string, compressed: Buffer): Promise<void> {
  const headers: Headers = {
    'Content-Type': types.get(name.slice(name.lastIndexOf('.') + 1)) ?? 'application/octet-stream',
    'Cache-Control': 'public, max-age=31536000, immutable',
    Vary: 'Accept-Encoding',
    'X-Content-Type-Options': 'nosniff',
  };
  const asIs = acceptsBrotli(context);
  if (asIs) headers['Content-Encoding'] = 'br';
  send(context, headers, asIs ? compressed : await inflate(compressed));
}

/**
 * Answers with the page. Its policy: nothing is loaded from other origins, no inline code runs, no other site may embed
 * it, and, by `trusted-types`, text can never become markup or code.
 */
async function sendPage(context: RequestContext, page: string): Promise<void> {
  const nonce = randomBytes(nonceBytes).toString('base64url');
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
  const headers: Headers = {
    'Content-Type': 'text/html; charset=utf-8',
    'Cache-Control': 'no-cache',
    'Content-Security-Policy': policy,
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Referrer-Policy': 'no-referrer',
    Vary: 'Accept, Accept-Encoding',
    'X-Content-Type-Options': 'nosniff',
  };
  const body = Buffer.from(page.replaceAll(noncePlace, nonce));
  const isSmall = acceptsBrotli(context);
  if (isSmall) headers['Content-Encoding'] = 'br';
  send(context, headers, isSmall ? await deflate(body, pageCompression) : body);
}

function sendTo({ response }: RequestContext, location: string): void {
  response.writeHead(301, { Location: location, 'Content-Length': '0' });
  response.end();
}

function send({ response, info }: RequestContext, headers: Headers, body: Buffer): void {
  response.writeHead(200, { ...headers, 'Content-Length': String(body.length) });
  response.end(info.method === 'HEAD' ? undefined : body);
}

const acceptsBrotli = ({ request }: RequestContext): boolean =>
  /(?:^|[\s,])br\s*(?:,|$)/.test(String(request.headers['accept-encoding'] ?? ''));
