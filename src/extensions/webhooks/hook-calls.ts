/** Calls one webhook for one write: whether it applies, what it answers, and what its failure means. */

import { badRequest, forbidden, internal } from '../../api/errors/errors.ts';
import type { AdmissionResponse } from '../../api/generated/types.ts';
import type { Authorizer } from '../../api/kind/access.ts';
import type { Registry } from '../../registry/registry.ts';
import type { Request } from '../../registry/request.ts';
import { turnToCompute } from '../../time-slices.ts';
import { HookCallError, type HookClient } from '../calls/hook-client.ts';
import type { AskedWrite } from '../writes/asked-write.ts';
import { writeConditionsOutcome } from '../writes/conditions.ts';
import { WriteValues } from '../writes/write-values.ts';
import type { Hook } from './hook.ts';
import type { HookMatch } from './hook-index.ts';
import { InvalidAnswer, refusal, responseOf, reviewText } from './review.ts';

/** Maximum length of a warning that is passed on. */
const warningCharsMax = 4_096;

/** A webhook failed, and its failure policy lets the write fail. */
class HookFailure extends Error {
  override readonly name = 'HookFailure';
}

export class HookCalls {
  constructor(
    private readonly registry: Registry,
    private readonly authorizer: Authorizer,
    private readonly client: HookClient,
    private readonly mutating: boolean,
  ) {}

  /**
   * The response of a webhook that allows a write; throws a Status when it refuses. Undefined when the webhook does not
   * apply to the write, or has failed and its failure policy is Ignore.
   */
  async ask(write: AskedWrite, match: HookMatch, place: string): Promise<AdmissionResponse | undefined> {
    const { hook } = match;
    const { request } = write.admission;
    if (hook.conditions.length > 0 && !(await this.#isConcerned(write, match))) return undefined;
    if (request.dryRun && !hook.takesDryRun)
      throw badRequest(`admission webhook ${JSON.stringify(hook.name)} does not support dry run`);
    try {
      const response = await this.#call(write, match);
      note(request, hook, response);
      if (!response.allowed) throw refusal(hook, response);
      checkPatchType(response);
      return response;
    } catch (error) {
      const why = failureText(error);
      if (why === undefined) throw error;
      const text = `failed calling webhook ${JSON.stringify(hook.name)}: ${why}`;
      if (!hook.ignoresFailure) throw internal(text);
      const type = this.mutating ? 'mutating' : 'validating';
      request.annotate(`failed-open.${type}.webhook.admission.k8s.io/${place}`, hook.name);
      return undefined;
    }
  }

  /** Whether the match conditions of a webhook hold. */
  async #isConcerned(write: AskedWrite, { hook, kind }: HookMatch): Promise<boolean> {
    await write.prepare(kind);
    const values = new WriteValues(this.registry, this.authorizer, write, kind);
    const outcome = await writeConditionsOutcome(hook.conditions, values);
    if (typeof outcome === 'string') return outcome === 'hold';
    if (hook.ignoresFailure) return false;
    throw forbidden(write.question.kind, write.name, outcome.failure);
  }

  async #call(write: AskedWrite, { hook, kind }: HookMatch): Promise<AdmissionResponse> {
    const uid = this.registry.sources.uid();
    await write.prepare(kind);
    const review = reviewText(write, kind, hook, uid);
    const answer = await this.client.call(
      hook.client,
      review,
      this.#timeoutMs(write.admission.request, hook),
    );
    // A long answer was read in a turn of its own.
    const turn = turnToCompute();
    if (turn) await turn;
    return responseOf(answer, hook, uid, this.mutating);
  }

  /** The timeout of the webhook, or the time left for the request when that is less. */
  #timeoutMs({ deadlineMs }: Request, { timeoutMs }: Hook): number {
    return deadlineMs === undefined
      ? timeoutMs
      : Math.min(timeoutMs, deadlineMs - this.registry.sources.nowMs());
  }
}

/** Passes on warnings and annotations, whatever the webhook has decided. */
function note(
  request: Request,
  hook: Hook,
  { warnings = [], auditAnnotations = {} }: AdmissionResponse,
): void {
  for (const warning of warnings) request.warnings.push(warning.slice(0, warningCharsMax));
  for (const [key, value] of Object.entries(auditAnnotations)) request.annotate(`${hook.name}/${key}`, value);
}

function checkPatchType({ patch, patchType }: AdmissionResponse): void {
  if (patch && patchType !== undefined && patchType !== 'JSONPatch')
    throw new HookFailure(`unsupported patch type ${JSON.stringify(patchType)}`);
}

/** The message about a webhook's failure; undefined when the error is not one. */
function failureText(error: unknown): string | undefined {
  if (error instanceof HookCallError) return `failed to call webhook: ${error.message}`;
  if (error instanceof InvalidAnswer) return `received invalid webhook response: ${error.message}`;
  return error instanceof HookFailure ? error.message : undefined;
}
