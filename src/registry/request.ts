/**
 * Requests: who asks the registry for something, and how. Clients' requests are made by the server, those of
 * controllers and of the server itself by `actingAs` (writers.ts).
 */
import type { Verb } from '../api/kind.ts';
import type { User } from '../api/user.ts';
import type { FieldValidation } from './input.ts';

/** As much as a manager's name may have; longer ones from user agents are cut. */
export const fieldManagerBytesMax = 128;

export interface RequestForm {
  readonly user: User;
  /** What was asked for. A request may lead to several writes, also of other kinds: an eviction is a create. */
  readonly verb: Verb;
  /** As HTTP reads the header, one character per byte; '' when there is none. */
  readonly userAgent: string;
  /** As the request names it; '' when it does not. */
  readonly fieldManager?: string;
  readonly dryRun?: boolean;
  readonly fieldValidation?: FieldValidation;
  /** Texts for Warning headers are added here. */
  readonly warnings?: string[];
  /** When it is too late to answer, on the registry's clock; undefined: never. */
  readonly deadlineMs?: number;
  /** It comes from a part of this process, not from a client that says to be one. */
  readonly internal?: boolean;
}

/** A class, so that all requests have one shape, and what few ask for costs nothing until it is asked for. */
export class Request {
  readonly user: User;
  readonly verb: Verb;
  readonly userAgent: string;
  readonly dryRun: boolean;
  readonly fieldValidation: FieldValidation;
  readonly warnings: string[];
  readonly deadlineMs: number | undefined;
  readonly internal: boolean;
  readonly #namedManager: string;

  constructor(form: RequestForm) {
    this.user = form.user;
    this.verb = form.verb;
    this.userAgent = form.userAgent;
    this.dryRun = form.dryRun ?? false;
    this.fieldValidation = form.fieldValidation ?? 'Ignore';
    this.warnings = form.warnings ?? [];
    this.deadlineMs = form.deadlineMs;
    this.internal = form.internal ?? false;
    this.#namedManager = form.fieldManager ?? '';
  }

  /** The name under which fields are owned that this request sets. */
  get fieldManager(): string {
    return this.#namedManager || managerOf(this.userAgent);
  }

  /** The same request, changing nothing. */
  asDryRun(): Request {
    return this.dryRun ? this : new Request({ ...this, fieldManager: this.#namedManager, dryRun: true });
  }
}

/** What Go calls printable: letters, marks, numbers, punctuation, symbols and the space. */
const unprintable = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu;

/** The manager that a user agent stands for, by Kubernetes' rule: its first word as far as that can be printed. */
function managerOf(userAgent: string): string {
  const slash = userAgent.indexOf('/');
  const product = slash < 0 ? userAgent : userAgent.slice(0, slash);
  let manager = '';
  let bytes = 0;
  for (const character of Buffer.from(product, 'latin1').toString('utf8').replace(unprintable, '')) {
    bytes += Buffer.byteLength(character);
    if (bytes > fieldManagerBytesMax) break;
    manager += character;
  }
  return manager || 'unknown';
}
