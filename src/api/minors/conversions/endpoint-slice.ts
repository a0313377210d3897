/** EndpointSlice in discovery.k8s.io/v1beta1: zone and node of an endpoint are in its `topology`. */
import type { JsonObject } from '../../text/object.ts';
import { changeItems, type VersionConversion } from './conversion.ts';

const zoneLabel = 'topology.kubernetes.io/zone';
const hostLabel = 'kubernetes.io/hostname';

function up({ topology, ...endpoint }: JsonObject): JsonObject {
  if (!topology) return endpoint;
  const { [zoneLabel]: zone, ...others } = topology as Record<string, string>;
  if (others[hostLabel] !== undefined && others[hostLabel] === endpoint['nodeName']) delete others[hostLabel];
  return {
    ...endpoint,
    ...(zone === undefined ? {} : { zone }),
    ...(Object.keys(others).length ? { deprecatedTopology: others } : {}),
  };
}

function down({ zone, deprecatedTopology, ...endpoint }: JsonObject): JsonObject {
  const topology: JsonObject = { ...(deprecatedTopology as JsonObject | undefined) };
  if (zone !== undefined) topology[zoneLabel] = zone;
  if (endpoint['nodeName'] !== undefined) topology[hostLabel] ??= endpoint['nodeName'];
  return Object.keys(topology).length ? { ...endpoint, topology } : endpoint;
}

const all =
  (change: (endpoint: JsonObject) => JsonObject) =>
  (object: JsonObject): JsonObject => {
    changeItems(object, 'endpoints', change);
    return object;
  };

export const endpointSliceV1beta1: VersionConversion = {
  up: all(up),
  down: all(down),
  isKeptOnWrite: true,
};
