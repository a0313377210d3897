/** Claims and slices of resource.k8s.io in v1alpha3 and v1beta1, which are flatter or deeper than today's. */
import type { JsonObject } from '../../text/object.ts';
import { changeItems, changeMember, defined, type VersionConversion } from './conversion.ts';

const exactMembers = [
  'deviceClassName',
  'selectors',
  'allocationMode',
  'count',
  'adminAccess',
  'tolerations',
  'capacity',
] as const;

/** What a request asks for is in `exactly` today. */
function requestUp(request: JsonObject): JsonObject {
  const exactly = defined(Object.fromEntries(exactMembers.map((name) => [name, request[name]])));
  const others = Object.entries(request).filter(
    ([name]) => !(exactMembers as readonly string[]).includes(name),
  );
  return { ...Object.fromEntries(others), ...(Object.keys(exactly).length ? { exactly } : {}) };
}

const requestDown = ({ exactly, ...request }: JsonObject): JsonObject => ({
  ...request,
  ...(exactly as JsonObject | undefined),
});

const requests =
  (change: (request: JsonObject) => JsonObject) =>
  (spec: JsonObject): JsonObject => {
    changeMember(spec, 'devices', (devices) => {
      changeItems(devices, 'requests', change);
      return devices;
    });
    return spec;
  };

const inSpec =
  (change: (spec: JsonObject) => JsonObject) =>
  (object: JsonObject): JsonObject => {
    changeMember(object, 'spec', change);
    return object;
  };

export const claimV1beta1: VersionConversion = {
  up: inSpec(requests(requestUp)),
  down: inSpec(requests(requestDown)),
};

export const claimTemplateV1beta1: VersionConversion = {
  up: inSpec(inSpec(requests(requestUp))),
  down: inSpec(inSpec(requests(requestDown))),
};

const capacities =
  (change: (capacity: unknown) => unknown) =>
  (device: JsonObject): JsonObject => {
    changeMember(device, 'capacity', (capacity) =>
      Object.fromEntries(Object.entries(capacity).map(([name, value]) => [name, change(value)])),
    );
    return device;
  };

/** @param inner what a device is below `basic` */
const slices = (
  up: (device: JsonObject) => JsonObject,
  down: (device: JsonObject) => JsonObject,
): VersionConversion => ({
  up: inSpec((spec) => {
    changeItems(spec, 'devices', ({ basic, ...device }) =>
      up({ ...device, ...(basic as JsonObject | undefined) }),
    );
    return spec;
  }),
  down: inSpec((spec) => {
    changeItems(spec, 'devices', ({ name, ...device }) => defined({ name, basic: down(device) }));
    return spec;
  }),
});

export const sliceV1beta1 = slices(
  (device) => device,
  (device) => device,
);

/** A capacity was a quantity alone. */
export const sliceV1alpha3 = slices(
  capacities((value) => ({ value })),
  capacities((capacity) => (capacity as JsonObject)['value']),
);
