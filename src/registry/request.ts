/**
 * Requests: the user, verb and options with which the registry is called. The server makes them for clients, and
 * `actingAs` (writers.ts) for controllers and the server itself.
 */
import type { Verb } from '../api/kind/kind.ts';
import { releaseSuffix } from '../api/values/release.ts';
import type { User } from '../api/values/user.ts';
import { LastMemo } from '../memo.ts';
import type { RequestTrace } from '../request-trace.ts';
import type { FieldValidation } from './input.ts';
import { fieldManagerBytesMax, unprintable } from './manager-name.ts';

export interface RequestForm {
  readonly user: User;
  /**
   * The verb of the HTTP request. One request may lead to several writes, also of other kinds: an eviction is a
   * create.
   */
  readonly verb: Verb;
  /** The User-Agent header as Node reads it, one character per byte; '' when it was not sent. */
  readonly userAgent: string;
  /** The `fieldManager` parameter, or ''. */
  readonly fieldManager?: string;
  readonly dryRun?: boolean;
  /** Whether this is a server-side apply. */
  readonly isApply?: boolean;
  readonly fieldValidation?: FieldValidation;
  /** The `fieldValidation` parameter, or ''. */
  readonly askedValidation?: string;
  /** Texts for Warning headers are added here. */
  readonly warnings?: string[];
  /** Deadline on the registry's clock; undefined: none. */
  readonly deadlineMs?: number;
  /** Whether the request comes from a part of this process, not from a client with such a name. */
  readonly internal?: boolean;
  /** Receives annotations for the audit log; undefined: they are dropped. */
  readonly annotated?: Annotated;
  /** The connection of the client; undefined for requests of this process itself. */
  readonly connection?: Connection;
  /** Where the time of the request is counted; absent without `--trace-requests`. */
  readonly trace?: RequestTrace | undefined;
}

/** A client's connection. Its address is read on demand, because that is a system call and few requests need it. */
export interface Connection {
  readonly remoteAddress?: string | undefined;
}

/** Receives annotations for the audit log. */
export interface Annotated {
  readonly annotations: Record<string, string>;
}

/** A class, so that V8 gives all requests one shape; rarely used values are getters, computed on demand. */
export class Request {
  readonly user: User;
  readonly verb: Verb;
  readonly userAgent: string;
  readonly dryRun: boolean;
  readonly isApply: boolean;
  readonly fieldValidation: FieldValidation;
  readonly askedValidation: string;
  readonly warnings: string[];
  readonly deadlineMs: number | undefined;
  readonly internal: boolean;
  readonly annotated: Annotated | undefined;
  readonly connection: Connection | undefined;
  readonly trace: RequestTrace | undefined;
  readonly #namedManager: string;

  constructor(form: RequestForm) {
    this.user = form.user;
    this.verb = form.verb;
    this.userAgent = form.userAgent;
    this.dryRun = form.dryRun ?? false;
    this.isApply = form.isApply ?? false;
    this.fieldValidation = form.fieldValidation ?? 'Ignore';
    this.askedValidation = form.askedValidation ?? '';
    this.warnings = form.warnings ?? [];
    this.deadlineMs = form.deadlineMs;
    this.internal = form.internal ?? false;
    this.annotated = form.annotated;
    this.connection = form.connection;
    this.trace = form.trace;
    this.#namedManager = form.fieldManager ?? '';
  }

  /** The field manager that owns the fields this request sets. */
  get fieldManager(): string {
    return this.#namedManager || managers.of(this.userAgent);
  }

  /** Whether a part of Wherry makes the request: one of this process, or a node agent. */
  get isOwn(): boolean {
    return this.internal || this.userAgent.includes(releaseSuffix);
  }

  /** The `fieldManager` parameter, or ''. */
  get askedManager(): string {
    return this.#namedManager;
  }

  /** Adds an annotation to the audit log's events of this request. */
  annotate(name: string, value: string): void {
    if (this.annotated) this.annotated.annotations[name] = value;
  }

  /** The same request as a dry run. */
  asDryRun(): Request {
    return this.dryRun ? this : new Request({ ...this, fieldManager: this.#namedManager, dryRun: true });
  }
}

/** Cached for the last user agent: clients send the same one with every request. */
const managers = new LastMemo(managerOf);

const everyUnprintable = new RegExp(unprintable, 'gu');

/**
 * The field manager of a user agent, by Kubernetes' rule: the text before the first slash, without unprintable
 * characters.
 */
function managerOf(userAgent: string): string {
  const slash = userAgent.indexOf('/');
  const product = slash < 0 ? userAgent : userAgent.slice(0, slash);
  let manager = '';
  let bytes = 0;
  for (const character of Buffer.from(product, 'latin1').toString('utf8').replaceAll(everyUnprintable, '')) {
    bytes += Buffer.byteLength(character);
    if (bytes > fieldManagerBytesMax) break;
    manager += character;
  }
  return manager || 'unknown';
}
