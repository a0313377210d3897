/**
 * The webhook: fills in a text where a Website has none, and refuses texts that shout. It runs as the program of a pod;
 * port, certificate and key come from its environment.
 */
import { createServer } from 'node:https';

interface Review {
  readonly apiVersion: string;
  readonly kind: string;
  readonly request: { readonly uid: string; readonly object: { spec: { text?: string; title: string } } };
}

const { PORT, TLS_CERT, TLS_KEY } = process.env;

function answer(path: string, { request }: Review): object {
  const { uid, object } = request;
  const { text, title } = object.spec;
  if (path === '/default') {
    if (text !== undefined) return { uid, allowed: true };
    const patch = [{ op: 'add', path: '/spec/text', value: `Welcome to ${title}.` }];
    return {
      uid,
      allowed: true,
      patchType: 'JSONPatch',
      patch: Buffer.from(JSON.stringify(patch)).toString('base64'),
    };
  }
  const shouts = text !== undefined && text.length > 3 && text === text.toUpperCase();
  return shouts
    ? { uid, allowed: false, status: { code: 422, message: 'please do not shout' } }
    : { uid, allowed: true };
}

createServer({ cert: TLS_CERT, key: TLS_KEY }, (request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    if (request.method === 'GET') return void response.end('ready');
    const review = JSON.parse(Buffer.concat(chunks).toString()) as Review;
    const { apiVersion, kind } = review;
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify({ apiVersion, kind, response: answer(request.url!.split('?')[0]!, review) }));
  });
}).listen(Number(PORT));
