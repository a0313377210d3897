/** One request on its way through the server: what it asks for, and how its answer is to look. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Negotiated, negotiate, wantsPretty } from './negotiation.ts';
import { Query } from './query.ts';
import type { RequestInfo } from './requestinfo.ts';

export interface User {
  readonly name: string;
  readonly groups: readonly string[];
}

export class RequestContext {
  /** Texts for Warning headers. */
  readonly warnings: string[] = [];
  #query: Query | undefined;

  constructor(
    readonly request: IncomingMessage,
    readonly response: ServerResponse,
    readonly info: RequestInfo,
    readonly user: User,
  ) {}

  get query(): Query {
    this.#query ??= new Query(this.info.queryText);
    return this.#query;
  }

  negotiate(watching = false): Negotiated {
    return negotiate(this.request.headers.accept, watching);
  }

  /** Whether the answer is for people's eyes. */
  pretty(negotiated: Negotiated): boolean {
    const pretty = this.info.queryText.includes('pretty') ? this.query.get('pretty') : undefined;
    return wantsPretty(negotiated, pretty, this.request.headers['user-agent']);
  }
}
