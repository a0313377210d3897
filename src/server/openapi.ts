/**
 * OpenAPI, as far as clients cannot do without: kubectl reads `/openapi/v2` as protobuf before it creates
 * anything, and goes on without checks of its own when the document is empty.
 */
import { apiHeaders } from './answer.ts';
import type { RequestContext } from './context.ts';

/** The client asks with an `@` in the type's name; Go refuses that in an answer, so it is a dot here. */
const protobufType = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
const paths = new Set(['/openapi/v2', '/swagger-2.0.0.pb-v1']);

export function answerOpenApi(context: RequestContext): boolean {
  if (context.info.method !== 'GET' || !paths.has(context.info.path)) return false;
  const accept = context.request.headers.accept ?? '';
  if (context.info.path === '/openapi/v2' && !accept.includes('protobuf')) {
    const text = JSON.stringify({
      swagger: '2.0',
      info: { title: 'Kubernetes', version: 'v1.36.0' },
      paths: {},
      definitions: {},
    });
    context.response.writeHead(200, { ...apiHeaders(context), Vary: 'Accept' });
    context.response.end(text);
    return true;
  }
  context.response.writeHead(200, {
    ...apiHeaders(context, protobufType),
    Vary: 'Accept',
    'Content-Length': '0',
  });
  context.response.end();
  return true;
}
