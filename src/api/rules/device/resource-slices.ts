/** Rules of resource slices: where their devices are, and what devices have. */
import {
  child,
  duplicate,
  index,
  invalid,
  key,
  required,
  tooLong,
  tooMany,
} from '../../errors/field-error.ts';
import type { Device, DeviceAttribute, NodeSelector, ResourceSliceSpec } from '../../generated/types.ts';
import { innerForm } from '../../model/inner-form.ts';
import { modelOf } from '../../model/model.ts';
import { isLabel1123, isQualifiedName, isSubdomain1123 } from '../../values/names.ts';
import { nodeSelectorErrors } from '../pod/affinity.ts';
import { type Findings, problemsOf } from '../shared/findings.ts';
import { capacityErrors, counterErrors } from './device-capacity.ts';
import { attributeNameErrors, poolNameErrors } from './device-names.ts';
import { listErrors, taintErrors } from './device-parts.ts';
import { driverNameErrors } from './driver-name.ts';

const devicesMax = 128;
/** When one of them has taints or takes from counters. */
const elaborateDevicesMax = 64;
const factsMax = 32;
const textBytesMax = 64;
const taintsMax = 16;
const bindingConditionsMax = 4;
const consumedSetsMax = 2;
const counterSetsMax = 8;
const countersMax = 32;
const version =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?$/;

export function* sliceErrors(spec: ResourceSliceSpec): Findings {
  const { driver, pool = {}, devices = [], sharedCounters = [] } = spec;
  yield* driverNameErrors(driver, 'spec.driver');
  yield* poolNameErrors(pool.name, 'spec.pool.name');
  const { resourceSliceCount = 0, generation = 0 } = pool;
  if (resourceSliceCount <= 0)
    yield invalid('spec.pool.resourceSliceCount', resourceSliceCount, 'must be greater than zero');
  if (generation < 0)
    yield invalid('spec.pool.generation', generation, 'must be greater than or equal to zero');
  yield* placeErrors(spec);
  if (devices.length && sharedCounters.length)
    yield invalid('spec', '', 'only one of `sharedCounters` or `devices` is allowed');
  yield* devicesErrors(devices, spec.perDeviceNodeSelection === true);
  const seen = new Set<string>();
  yield* listErrors(sharedCounters, counterSetsMax, 'spec.sharedCounters', function* (set, at) {
    const { name = '', counters } = set;
    yield* problemsOf(child(at, 'name'), name, isLabel1123(name));
    yield* counterErrors(counters, countersMax, child(at, 'counters'), labelErrors);
    if (seen.has(name)) yield duplicate(at, name);
    seen.add(name);
  });
}

function* labelErrors(name: string, path: string): Findings {
  yield* problemsOf(path, name, isLabel1123(name));
}

function* placeErrors(spec: ResourceSliceSpec): Findings {
  const set: string[] = [];
  const { nodeName, nodeSelector, allNodes, perDeviceNodeSelection } = spec;
  if (nodeName) {
    set.push('`nodeName`');
    yield* problemsOf('spec.nodeName', nodeName, isSubdomain1123(nodeName));
  } else if (nodeName !== undefined)
    yield invalid('spec.nodeName', '', 'must be either unset or set to a non-empty string');
  if (nodeSelector) {
    set.push('`nodeSelector`');
    yield* oneTermErrors(nodeSelector, 'spec.nodeSelector');
  }
  for (const [name, value] of Object.entries({ allNodes, perDeviceNodeSelection }))
    if (value) set.push(`\`${name}\``);
    else if (value !== undefined) yield invalid(`spec.${name}`, value, 'must be either unset or set to true');
  const one = 'exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required';
  if (set.length === 0) yield required('spec', one);
  else if (set.length > 1)
    yield invalid('spec', `{${set.join(', ')}}`, `${one}, but multiple fields are set`);
}

function* oneTermErrors(selector: NodeSelector, path: string): Findings {
  const { nodeSelectorTerms = [] } = selector;
  yield* nodeSelectorErrors(nodeSelectorTerms, path);
  if (nodeSelectorTerms.length === 1) return;
  const terms = nodeSelectorTerms.map((term) => innerForm(modelOf('NodeSelectorTerm'), term));
  yield invalid(child(path, 'nodeSelectorTerms'), terms, 'must have exactly one node selector term');
}

function* devicesErrors(devices: readonly Device[], perDevice: boolean): Findings {
  const elaborate = devices.some(
    ({ taints, consumesCounters }) => taints?.length || consumesCounters?.length,
  );
  const seen = new Set<string>();
  yield* listErrors(
    devices,
    elaborate ? elaborateDevicesMax : devicesMax,
    'spec.devices',
    function* (device, at) {
      yield* deviceErrors(device, at, perDevice);
      const { name = '' } = device;
      if (seen.has(name)) yield duplicate(at, name);
      seen.add(name);
    },
  );
}

function* deviceErrors(device: Device, path: string, perDevice: boolean): Findings {
  const { name = '', attributes = {}, capacity = {}, taints = [], consumesCounters = [] } = device;
  yield* problemsOf(child(path, 'name'), name, isLabel1123(name));
  const facts = Object.keys(attributes).length + Object.keys(capacity).length;
  if (facts > factsMax)
    yield invalid(path, facts, `the total number of attributes and capacities must not exceed ${factsMax}`);
  const [attributesPath, capacityPath] = [child(path, 'attributes'), child(path, 'capacity')];
  for (const [id, attribute] of Object.entries(attributes)) {
    yield* attributeNameErrors(id, attributesPath);
    yield* attributeErrors(attribute, key(attributesPath, id));
  }
  for (const [id, amount] of Object.entries(capacity)) {
    yield* attributeNameErrors(id, capacityPath);
    yield* capacityErrors(amount, key(capacityPath, id), device.allowMultipleAllocations === true);
  }
  yield* listErrors(taints, taintsMax, child(path, 'taints'), taintErrors);
  yield* listErrors(consumesCounters, consumedSetsMax, child(path, 'consumesCounters'), function* (set, at) {
    if (!set.counterSet) yield required(child(at, 'counterSet'));
    else yield* problemsOf(child(at, 'counterSet'), set.counterSet, isLabel1123(set.counterSet));
    yield* counterErrors(set.counters, countersMax, child(at, 'counters'), labelErrors);
  });
  yield* devicePlaceErrors(device, path, perDevice);
  yield* bindingConditionErrors(device, path);
}

function* attributeErrors(attribute: DeviceAttribute, path: string): Findings {
  const { string, version: release } = attribute;
  if (string !== undefined && Buffer.byteLength(string) > textBytesMax)
    yield tooLong(child(path, 'string'), textBytesMax);
  if (release !== undefined) {
    if (!version.test(release.slice(0, textBytesMax * 2)))
      yield invalid(
        child(path, 'version'),
        release,
        'must be a string compatible with semver.org spec 2.0.0',
      );
    if (Buffer.byteLength(release) > textBytesMax) yield tooLong(child(path, 'version'), textBytesMax);
  }
  const set = (['int', 'bool', 'string', 'version'] as const).filter((name) => attribute[name] !== undefined);
  if (set.length === 1) return;
  const shown = set.length ? innerForm(modelOf('DeviceAttribute', 'resource-v1'), attribute) : '';
  yield invalid(path, shown, 'exactly one value must be specified');
}

function* devicePlaceErrors(device: Device, path: string, perDevice: boolean): Findings {
  const { nodeName, nodeSelector, allNodes } = device;
  const given = { nodeName, nodeSelector, allNodes };
  const set = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [`\`${name}\``]));
  if (!perDevice) {
    if (set.length)
      yield invalid(
        path,
        null,
        '`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec',
      );
    return;
  }
  if (nodeName) yield* problemsOf(child(path, 'nodeName'), nodeName, isSubdomain1123(nodeName));
  else if (nodeName !== undefined) yield invalid(child(path, 'nodeName'), '', 'must not be empty');
  if (nodeSelector) yield* oneTermErrors(nodeSelector, child(path, 'nodeSelector'));
  if (allNodes === false)
    yield invalid(child(path, 'allNodes'), allNodes, 'must be either unset or set to true');
  const one =
    'exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec';
  if (set.length === 0) yield required(path, one);
  else if (set.length > 1) yield invalid(path, `{${set.join(', ')}}`, one);
}

function* bindingConditionErrors(device: Device, path: string): Findings {
  const { bindingConditions = [], bindingFailureConditions = [] } = device;
  const lists = { bindingConditions, bindingFailureConditions };
  for (const [name, conditions] of Object.entries(lists)) {
    const at = child(path, name);
    if (conditions.length > bindingConditionsMax) yield tooMany(at, conditions.length, bindingConditionsMax);
    const seen = new Set<string>();
    for (const [i, condition] of conditions.slice(0, bindingConditionsMax).entries()) {
      yield* problemsOf(index(at, i), condition, isQualifiedName(condition));
      if (seen.has(condition)) yield duplicate(index(at, i), condition);
      seen.add(condition);
    }
  }
  const failurePath = child(path, 'bindingFailureConditions');
  for (const [i, condition] of bindingFailureConditions.entries())
    if (bindingConditions.includes(condition))
      yield invalid(
        index(failurePath, i),
        condition,
        'bindingFailureConditions must not overlap with bindingConditions',
      );
  if (bindingConditions.length && !bindingFailureConditions.length)
    yield invalid(failurePath, null, 'bindingFailureConditions are required to use bindingConditions');
  if (bindingFailureConditions.length && !bindingConditions.length)
    yield invalid(
      child(path, 'bindingConditions'),
      null,
      'bindingConditions are required to use bindingFailureConditions',
    );
}
