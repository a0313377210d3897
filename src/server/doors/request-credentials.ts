/** The credentials of a request, for authenticators. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Credentials, PeerCertificate } from '../../access/authentication/authenticator.ts';
import { allowedPages } from '../http/allowed-pages.ts';
import type { RequestContext } from '../http/context.ts';
import { isForeignPage } from './foreign-page.ts';

const none: readonly string[] = [];

export class RequestCredentials implements Credentials {
  constructor(
    private readonly context: RequestContext,
    readonly protocolToken: string | undefined,
    readonly certificate: PeerCertificate | undefined,
  ) {}

  get headers(): IncomingHttpHeaders {
    return this.context.request.headers;
  }

  /** Pages whose origin is allowed by CORS are not foreign. */
  get isForeignPage(): boolean {
    return isForeignPage(this.headers) && !allowedPages.has(this.context.request);
  }

  /** Empty for a request of the express lane, in which no header is repeated. */
  get rawHeaders(): readonly string[] {
    const { request } = this.context;
    return 'rawHeaders' in request ? request.rawHeaders : none;
  }

  /** A copy of the credentials for a later check: before a request is forwarded, they are removed from it. */
  kept(): Credentials {
    const { protocolToken, certificate, isForeignPage, path } = this;
    return {
      headers: { ...this.headers },
      rawHeaders: [...this.rawHeaders],
      protocolToken,
      certificate,
      isForeignPage,
      path,
      warnings: [],
      annotations: {},
    };
  }

  get path(): string {
    return this.context.info.path;
  }

  get warnings(): string[] {
    return this.context.warnings;
  }

  get annotations(): Record<string, string> {
    return this.context.annotations;
  }
}
