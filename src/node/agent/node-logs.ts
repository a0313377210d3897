/** `/logs/` of the kubelet API: the log folder of the node, as listings with links and as files. */
import type { Dirent } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { Found } from '../logs/log-folder.ts';
import { KubeletRefusal, notFound } from './kubelet-sessions.ts';
import type { Asked } from './kubelet-views.ts';

/** Always plain text: a log that contains HTML must not be rendered as a page of the API server's origin. */
const plain = { 'Content-Type': 'text/plain; charset=utf-8', 'X-Content-Type-Options': 'nosniff' };

export async function nodeLogs({ host, request, response, path }: Asked): Promise<void> {
  const found = await host.logFolder?.find(path);
  if (!found) throw notFound();
  const [location = ''] = (request.url ?? '').split('?', 1);
  const asFolder = location.endsWith('/');
  if (found.kind === 'file') {
    try {
      if (asFolder) throw notFound();
      await sendFile(found, request, response);
    } finally {
      await found.handle.close();
    }
    return;
  }
  // Links in a listing are relative, so they only work below a path that ends in a slash.
  if (!asFolder) {
    response.writeHead(301, { Location: `${location.split('/').at(-1)}/`, 'Content-Length': 0 }).end();
    return;
  }
  const page = pageOf(found.entries);
  response
    .writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', 'Content-Length': Buffer.byteLength(page) })
    .end(page);
}

/** The format of Go's file server. */
function pageOf(entries: readonly Dirent[]): string {
  const lines = entries.map((entry) => {
    const name = entry.isDirectory() ? `${entry.name}/` : entry.name;
    // A colon in the first segment would make the part before it a URL scheme.
    const link = name.split('/').map(encodeURIComponent).join('/');
    return `<a href="${link}">${escaped(name)}</a>\n`;
  });
  return `<pre>\n${lines.join('')}</pre>\n`;
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
  "'": '&#39;',
};

const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character]!);

/** Sends the file up to its present size, or the requested range. */
async function sendFile(
  { handle, stats }: Extract<Found, { kind: 'file' }>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const range = rangeOf(request.headers.range, stats.size);
  const { start, end } = range ?? { start: 0, end: stats.size };
  response.writeHead(range ? 206 : 200, {
    ...plain,
    'Accept-Ranges': 'bytes',
    'Content-Length': end - start,
    'Last-Modified': stats.mtime.toUTCString(),
    ...(range ? { 'Content-Range': `bytes ${start}-${end - 1}/${stats.size}` } : {}),
  });
  if (request.method === 'HEAD' || start === end) {
    response.end();
    return;
  }
  const bytes = handle.createReadStream({ start, end: end - 1, autoClose: false });
  // A client that disconnects early is not an error.
  await pipeline(bytes, response).catch(() => response.destroy());
}

/** `bytes=10-`, `bytes=10-20` or `bytes=-10`; for several ranges the whole file is sent. */
function rangeOf(header: string | undefined, size: number): { start: number; end: number } | undefined {
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined;
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? size : Math.min(size, Number(last) + 1);
  if (start >= size || start >= end) throw new KubeletRefusal(416, 'invalid range: failed to overlap');
  return { start, end };
}
