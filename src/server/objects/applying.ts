/** Applying: what a server-side apply needs beyond other patches. */
import { isUtf8 } from 'node:buffer';
import { badRequest } from '../../api/errors/errors.ts';
import { allowAll } from '../../api/kind/access.ts';
import { JsonError } from '../../api/text/json.ts';
import { readSentJson } from '../../registry/sliced-json.ts';
import type { ApplyPatch } from '../../registry/verbs/apply.ts';
import { isLong } from '../../time-slices.ts';
import { refusal } from '../http/access-refusal.ts';
import { arrivedBody } from '../http/arrival.ts';
import type { RequestContext } from '../http/context.ts';
import type { Serving } from './objects.ts';

const openingBrace = 0x7b;

/** The body of an apply: YAML, which includes JSON. */
export async function applyBody(serving: Serving, context: RequestContext): Promise<ApplyPatch> {
  const bytes = await arrivedBody(context, serving);
  const { readYamlWithLines, YamlError } = await import('../../api/text/yaml.ts');
  try {
    if (!isUtf8(bytes)) throw new YamlError('invalid UTF-8');
    const long = isLong(bytes.length) ? await longJson(bytes) : undefined;
    const { value, repeated } = long ?? readYamlWithLines(bytes.toString('utf8'));
    context.audited?.takeValue(value);
    return { value, duplicates: repeated, force: isForced(context), bytes: bytes.length };
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    const why = 'error converting YAML to JSON: yaml: ';
    throw badRequest(`error decoding YAML: ${error.message.startsWith(why) ? '' : why}${error.message}`);
  }
}

/** A long body that is JSON, as kubectl sends it, read in turns with other work. */
async function longJson(bytes: Buffer): Promise<{ value: unknown; repeated: [] } | undefined> {
  if (bytes[0] !== openingBrace) return undefined;
  try {
    const { value, duplicates } = await readSentJson(bytes);
    return duplicates.length === 0 ? { value, repeated: [] } : undefined;
  } catch (error) {
    if (error instanceof JsonError) return undefined;
    throw error;
  }
}

/** The `force` parameter: absent, `false` and `0` are false; everything else is true. */
function isForced({ query }: RequestContext): boolean {
  const force = query.get('force')?.toLowerCase();
  return force !== undefined && force !== 'false' && force !== '0';
}

/** Checks the right to create, which a PUT or an apply needs when it creates the object. */
export async function authorizeCreate({ writing }: Serving, context: RequestContext): Promise<void> {
  const authorizer = context.impersonator ? writing.authorizer : context.door.authorizer;
  if (authorizer === allowAll) return;
  const action = { ...context.info.action, verb: 'create' };
  const decision = await authorizer.decide({ user: context.user, info: action });
  if (!decision.allowed) throw refusal(context.user, action, decision.reason);
}
