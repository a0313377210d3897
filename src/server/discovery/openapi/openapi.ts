/**
 * The documents that describe the API: OpenAPI 2 at `/openapi/v2`, as JSON and as the protobuf that kubectl 1.8 to
 * 1.26 reads; OpenAPI 3 below `/openapi/v3`, for kubectl since 1.27; Swagger 1.2 below `/swaggerapi`, for kubectl
 * before 1.8. The code that builds them is loaded at the first request.
 */
import type { TLSSocket } from 'node:tls';
import { methodNotAllowed, notAcceptable } from '../../../api/errors/errors.ts';
import type { KindTable } from '../../../api/kinds/kinds.ts';
import type { ApiRequest, RequestContext } from '../../http/context.ts';
import type { ApiDocument } from '../../http/document.ts';
import { parseAccept } from '../../http/negotiation.ts';
import type { Discovery } from '../discovery.ts';
import type { Documents } from './documents.ts';

const yearMs = 365 * 24 * 3600 * 1000;

/** Media types of the protobuf form, and media ranges that JSON satisfies. */
const protobufTypes = new Set([
  'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
  'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
  'application/com.github.googleapis.gnostic.openapiv2@v1.0+protobuf',
]);
const jsonTypes = new Set(['*/*', 'application/*', 'application/json']);

export class OpenApi {
  #documents: Documents | undefined;

  constructor(
    private readonly discovery: Discovery,
    private readonly kinds: KindTable,
    private readonly nowMs: () => number,
    /** Documents about paths outside the API, by name. */
    private readonly others?: Readonly<Record<string, object>>,
  ) {}

  /** Answers if the path is one of these documents; false otherwise. */
  async answer(context: RequestContext): Promise<boolean> {
    const { path, method } = context.info;
    if (!/^\/(openapi|swaggerapi|swagger\.json|swagger-2\.0\.0\.pb-v1)(\/|$)/.test(path)) return false;
    const answered = await this.#find(context, path);
    if (!answered) return false;
    if (method !== 'GET' && method !== 'HEAD') throw methodNotAllowed();
    await answered();
    return true;
  }

  /** The function that answers a path; undefined for unknown paths. */
  async #find(context: RequestContext, path: string): Promise<(() => Promise<void>) | undefined> {
    const { minor } = this.kinds;
    // Minors that can be chosen never had Swagger 1.2, and have had version 3 since 1.24.
    if (minor && path !== '/openapi/v2' && !(path.startsWith('/openapi/v3') && minor.isOn('OpenAPIV3')))
      return undefined;
    const documents = await this.#load();
    if (path === '/openapi/v2')
      return async () => {
        const binary = wantsProtobuf(context.request.headers.accept);
        await (await (binary ? documents.v2Protobuf() : documents.v2())).answer(context);
      };
    // Paths of older Kubernetes versions.
    if (path === '/swagger-2.0.0.pb-v1') return async () => (await documents.v2Protobuf()).answer(context);
    if (path === '/swagger.json') return async () => (await documents.v2()).answer(context);
    if (path === '/openapi/v3') return async () => (await documents.v3Index()).answer(context);
    if (path.startsWith('/openapi/v3/')) {
      const document = await documents.v3(path.slice('/openapi/v3/'.length));
      return document && (() => this.#answerV3(context, document));
    }
    if (path !== '/swaggerapi' && !path.startsWith('/swaggerapi/')) return undefined;
    const document = await documents.swagger12(path.slice('/swaggerapi'.length), baseUrl(context.request));
    return document && (() => document.answer(context));
  }

  /** A document requested by its hash may be cached for ever; a wrong hash is redirected to the right one. */
  async #answerV3(context: RequestContext, document: ApiDocument): Promise<void> {
    const hash = context.info.queryText ? context.query.get('hash') : undefined;
    if (!hash) return document.answer(context);
    if (hash !== document.hash) {
      context.response.writeHead(301, {
        Location: `${context.info.path}?hash=${document.hash}`,
        'Content-Length': '0',
      });
      context.response.end();
      return;
    }
    return document.answer(context, {
      'Cache-Control': 'public, immutable',
      Expires: new Date(this.nowMs() + yearMs).toUTCString(),
    });
  }

  async #load(): Promise<Documents> {
    if (!this.#documents) {
      const { Documents } = await import('./documents.ts');
      this.#documents ??= new Documents(this.discovery, this.kinds, this.others);
    }
    return this.#documents;
  }
}

function wantsProtobuf(accept: string | undefined): boolean {
  if (!accept) return false;
  for (const { type } of parseAccept(accept)) {
    if (protobufTypes.has(type)) return true;
    if (jsonTypes.has(type)) return false;
  }
  throw notAcceptable(['application/json', 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf']);
}

/** The server address of the connection. The Host header is not used: a client may put any name there. */
function baseUrl({ socket }: ApiRequest): string {
  const { localAddress = '', localPort } = socket;
  const scheme = (socket as TLSSocket).encrypted ? 'https' : 'http';
  return `${scheme}://${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`;
}
