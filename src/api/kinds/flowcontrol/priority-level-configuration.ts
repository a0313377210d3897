/** PriorityLevelConfiguration: a share of the requests that the server handles at once, and what becomes of more. */
import { child, forbidden, invalid, notSupported, required } from '../../errors/field-error.ts';
import type {
  ExemptPriorityLevelConfiguration,
  LimitedPriorityLevelConfiguration,
  LimitResponse,
  PriorityLevelConfiguration,
  QueuingConfiguration,
} from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { status } from '../../kind/subresource.ts';
import { fixedLevels } from '../../rules/access/flow-defaults.ts';
import { flowConditionErrors } from '../../rules/access/flow-rules.ts';
import { ageCell, ageColumn, nameColumn, orNone } from '../../rules/shared/columns.ts';
import { collect, type Findings, rangeText } from '../../rules/shared/findings.ts';
import { semanticEqual } from '../../text/object.ts';

const sharesDefault = 30;
const queuesMax = 10_000_000;
/** A hand of queues is dealt from a hash of this many bits. */
const hashBits = 60;
const count = 'must be a non-negative integer';
const positive = 'must be positive';

function* levelErrors({ metadata: { name }, spec = {} }: PriorityLevelConfiguration): Findings {
  const { type = '', limited, exempt } = spec;
  if ((name === 'exempt') !== (type === 'Exempt'))
    yield invalid('spec.type', type, "type must be 'Exempt' if and only if name is 'exempt'");
  if (type === 'Exempt') {
    if (limited) yield forbidden('spec.limited', 'must be nil if the type is not Limited');
    if (exempt) yield* shareErrors(exempt, 'spec.exempt');
    else yield required('spec.exempt', 'must not be empty when type is Exempt');
  } else if (type === 'Limited') {
    if (exempt) yield forbidden('spec.exempt', 'must be nil if the type is Limited');
    if (limited) yield* limitErrors(limited, 'spec.limited');
    else yield required('spec.limited', 'must not be empty when type is Limited');
  } else yield notSupported('spec.type', type, ['Exempt', 'Limited']);
  yield* fixedErrors(name ?? '', spec);
}

function* fixedErrors(name: string, spec: NonNullable<PriorityLevelConfiguration['spec']>): Findings {
  const fixed = fixedLevels.get(name);
  if (!fixed) return;
  const { exempt: _, ...rest } = spec;
  const { exempt: __, ...fixedRest } = fixed;
  if (semanticEqual(rest, fixedRest)) return;
  const but = name === 'exempt' ? " except the 'spec.exempt' field" : '';
  yield invalid('spec', spec, `spec of '${name}'${but} must equal the fixed value`);
}

function* shareErrors(
  { nominalConcurrencyShares = 0, lendablePercent = 0 }: ExemptPriorityLevelConfiguration,
  path: string,
): Findings {
  if (nominalConcurrencyShares < 0)
    yield invalid(child(path, 'nominalConcurrencyShares'), nominalConcurrencyShares, count);
  yield* percentErrors(lendablePercent, child(path, 'lendablePercent'));
}

function* percentErrors(percent: number, path: string): Findings {
  if (percent < 0 || percent > 100) yield invalid(path, percent, rangeText(0, 100));
}

function* limitErrors(limited: LimitedPriorityLevelConfiguration, path: string): Findings {
  const { nominalConcurrencyShares = 0, lendablePercent = 0, borrowingLimitPercent = 0 } = limited;
  if (nominalConcurrencyShares < 0)
    yield invalid(child(path, 'nominalConcurrencyShares'), nominalConcurrencyShares, count);
  yield* responseErrors(limited.limitResponse ?? {}, child(path, 'limitResponse'));
  yield* percentErrors(lendablePercent, child(path, 'lendablePercent'));
  if (borrowingLimitPercent < 0)
    yield invalid(child(path, 'borrowingLimitPercent'), borrowingLimitPercent, count);
}

function* responseErrors({ type = '', queuing }: LimitResponse, path: string): Findings {
  const queuingPath = child(path, 'queuing');
  if (type === 'Reject') {
    if (queuing) yield forbidden(queuingPath, 'must be nil if limited.limitResponse.type is not Limited');
  } else if (type !== 'Queue') yield notSupported(child(path, 'type'), type, ['Queue', 'Reject']);
  else if (queuing) yield* queuingErrors(queuing, queuingPath);
  else yield required(queuingPath, 'must not be empty if limited.limitResponse.type is Limited');
}

function* queuingErrors(
  { queues = 0, handSize = 0, queueLengthLimit = 0 }: QueuingConfiguration,
  path: string,
): Findings {
  if (queueLengthLimit <= 0) yield invalid(child(path, 'queueLengthLimit'), queueLengthLimit, positive);
  if (queues <= 0) yield invalid(child(path, 'queues'), queues, positive);
  else if (queues > queuesMax)
    yield invalid(child(path, 'queues'), queues, `must not be greater than ${queuesMax}`);
  const handPath = child(path, 'handSize');
  if (handSize <= 0) yield invalid(handPath, handSize, positive);
  else if (handSize > queues)
    yield invalid(handPath, handSize, `should not be greater than queues (${queues})`);
  else if (dealtBits(queues, handSize) > hashBits)
    yield invalid(
      handPath,
      handSize,
      `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${hashBits}`,
    );
}

/** Bits that choosing a hand takes: one card out of the deck, then one out of the rest, and so on. */
function dealtBits(queues: number, handSize: number): number {
  // A hand of more cards takes more bits than there are, unless the deck is small.
  const cards = Math.min(handSize, hashBits + 1);
  let bits = 0;
  for (let i = 0; i < cards; i++) bits += Math.log2(queues - i);
  return Math.ceil(bits);
}

export const priorityLevelConfiguration = defineKind<PriorityLevelConfiguration>({
  kind: 'PriorityLevelConfiguration',
  resource: 'prioritylevelconfigurations',
  singular: 'prioritylevelconfiguration',
  group: 'flowcontrol.apiserver.k8s.io',
  version: 'v1',
  table: 'flowcontrol-v1',
  namespaced: false,
  generationOf: 'spec',
  subresources: [status({ validate: ({ status }) => collect(flowConditionErrors(status?.conditions)) })],

  defaults({ spec }) {
    if (spec?.type === 'Exempt') {
      const { exempt } = spec;
      spec.exempt = { nominalConcurrencyShares: 0, lendablePercent: 0, ...exempt };
    }
    const { limited } = spec ?? {};
    if (!limited) return;
    limited.nominalConcurrencyShares ??= sharesDefault;
    limited.lendablePercent ??= 0;
    const { queuing } = limited.limitResponse ?? {};
    if (!queuing) return;
    queuing.queues ||= 64;
    queuing.handSize ||= 8;
    queuing.queueLengthLimit ||= 50;
  },

  validate: (level) => collect(levelErrors(level)),

  columns: [
    nameColumn,
    { name: 'Type', description: 'Whether its requests are limited.' },
    { name: 'NominalConcurrencyShares', description: 'Its share of what the server handles at once.' },
    { name: 'Queues', description: 'Queues in which its requests wait.' },
    { name: 'HandSize', description: 'Queues that one flow may use.' },
    { name: 'QueueLengthLimit', description: 'Requests that may wait in one queue.' },
    ageColumn,
  ],
  cells(level) {
    const { type = '', limited } = level.spec ?? {};
    const queuing = limited?.limitResponse?.queuing;
    const cell = (value: number | undefined): string =>
      orNone(value === undefined ? undefined : String(value));
    return [
      level.metadata.name,
      type,
      cell(limited?.nominalConcurrencyShares),
      cell(queuing?.queues),
      cell(queuing?.handSize),
      cell(queuing?.queueLengthLimit),
      ageCell(level),
    ];
  },
});
