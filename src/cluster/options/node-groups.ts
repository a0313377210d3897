/** Nodes as `wherry.yaml` and programs describe them: this machine, and groups of simulated ones. */
import type { Taint } from '../../api/generated/types.ts';
import { isLabelValue, isQualifiedName, isSubdomain1123 } from '../../api/values/names.ts';
import { parseQuantity } from '../../api/values/quantity.ts';
import { StartError } from '../shared/start-error.ts';
import { counts, field, handedValue, listOf, mapOf, objectOf, type Shape, texts } from './shape.ts';

/** Maximum number of simulated nodes; each takes some memory and a periodic heartbeat. */
export const simulatedNodesMax = 10_000;

export interface NodeGroup {
  /** How many simulated nodes it has. Default: it is this machine, which runs pods. */
  readonly simulated?: number;
  /** Name of the machine's node, or what the names of simulated ones begin with. Default: the name of the machine, `simulated`. */
  readonly name?: string;
  /** Labels, beside those that every node has. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Taints that a node gets when it is made: `key=value:NoSchedule`, `key:NoExecute`. */
  readonly taints?: readonly string[];
  /** What the node has, in place of what the machine has: `cpu`, `memory`, `pods`, `ephemeral-storage`, `example.com/gpu`. */
  readonly capacity?: Readonly<Record<string, string>>;
}

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

/** undefined: it is no taint. */
function taintOf(text: string): Taint | undefined {
  const [, key = '', value, effect = ''] = /^([^=:]+)(?:=([^:]*))?:([A-Za-z]+)$/.exec(text) ?? [];
  if (isQualifiedName(key).length || isLabelValue(value ?? '').length || !effects.includes(effect))
    return undefined;
  return { key, ...(value ? { value } : {}), effect };
}

function isAmount(text: string): boolean {
  try {
    return parseQuantity(text).nano >= 0n;
  } catch {
    return false;
  }
}

const name = texts('a name of a node', (text) => isSubdomain1123(text).length === 0);
const labelValue = texts('a value of a label', (text) => isLabelValue(text).length === 0);
const taint = texts(`a taint such as key=value:${effects[0]}`, (text) => taintOf(text) !== undefined);
const amount = texts('an amount such as 4, 500m or 16Gi', isAmount);
const named = <T>(shape: Shape<T>): Shape<Readonly<Record<string, T>>> => ({
  ...mapOf(shape),
  read: (found) => {
    const read = mapOf(shape).read(found);
    for (const key of Object.keys(read))
      if (isQualifiedName(key).length)
        found.at(key).refuse(`${JSON.stringify(key)} is no name of a label or resource`, 'key');
    return read;
  },
});

const oneMachine = 'this machine is one node: leave "simulated" out once';

export const nodeGroups: Shape<readonly NodeGroup[]> = (() => {
  const groups = listOf(
    objectOf({
      simulated: field(
        counts(0, simulatedNodesMax),
        'how many simulated nodes; without it, the node is this machine',
      ),
      name: field(name, 'name of the node, or what the names of simulated ones begin with'),
      labels: field(named(labelValue), 'labels of the node'),
      taints: field(listOf(taint), 'taints that the node gets when it is made: key=value:NoSchedule'),
      capacity: field(
        named(amount),
        'what the node has, in place of what the machine has: cpu, memory, pods',
      ),
    }),
  ) as Shape<readonly NodeGroup[]>;
  return {
    ...groups,
    read: (found) => {
      const read = groups.read(found);
      return read.filter(isMachine).length > 1 ? found.refuse(oneMachine) : read;
    },
  };
})();

export const isMachine = ({ simulated }: NodeGroup): boolean => simulated === undefined;

/** Throws a `StartError` where a program hands in groups that a file could not. */
export function checkNodeGroups(groups: readonly NodeGroup[]): void {
  const refuse = (message: string): never => {
    throw new StartError(message);
  };
  nodeGroups.read(handedValue(groups, ['nodes'], refuse));
}

/** The taints of texts that were checked. */
export const taintsOf = (texts: readonly string[] = []): readonly Taint[] =>
  texts.flatMap((text) => taintOf(text) ?? []);
