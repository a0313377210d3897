/**
 * Service: one address for a set of pods. Its rules are in `rules/service/`; cluster IPs and node ports are
 * allocated by the registry, between preparation and validation.
 */
import { type FieldError, invalid, notSupported } from '../../errors/field-error.ts';
import type { Service, ServicePort } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { status } from '../../kind/subresource.ts';
import { defaultIngress, ingressTexts, validateIngress } from '../../rules/service/load-balancer-status.ts';
import {
  fillClusterIPs,
  refillClusterIPs,
  validateAddresses,
  validateAddressesUpdate,
  validateNoAddresses,
} from '../../rules/service/service-addresses.ts';
import { defaultPorts, refillNodePorts, validatePorts } from '../../rules/service/service-ports.ts';
import {
  defaultTraffic,
  validateAffinity,
  validateBalancer,
  validateBalancerUpdate,
  validateExternalIPs,
  validateExternalName,
  validatePolicies,
} from '../../rules/service/service-traffic.ts';
import {
  dropInternalPolicy,
  dropUnusedFields,
  hasNodePorts,
  isHeadless,
  noClusterIP,
} from '../../rules/service/service-type.ts';
import { serviceWarnings } from '../../rules/service/service-warnings.ts';
import {
  ageCell,
  ageColumn,
  mapCell,
  nameColumn,
  orNone,
  selectorColumn,
  wide,
} from '../../rules/shared/columns.ts';
import { labelName, validateLabels } from '../../values/names.ts';

const types: readonly string[] = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];

export const service = defineKind<Service>({
  kind: 'Service',
  resource: 'services',
  singular: 'service',
  shortNames: ['svc'],
  categories: ['all'],
  namespaced: true,
  nameRule: labelName,
  subresources: [
    status({
      // A status update may leave the type out; the stored spec has been restored by now.
      prepare: (service) => defaultIngress(service),
      validate: (service) => validateIngress(service),
    }),
  ],
  createOnUpdate: true,
  deletion: { returnsObject: true },

  defaults(service) {
    const spec = (service.spec ??= {});
    spec.type ||= 'ClusterIP';
    // The name of externalIPs in 1.1.
    if (!spec.externalIPs?.length && spec.deprecatedPublicIPs?.length)
      spec.externalIPs = spec.deprecatedPublicIPs;
    delete spec.deprecatedPublicIPs;
    defaultPorts(spec);
    defaultTraffic(spec);
    defaultIngress(service);
  },

  prepareForCreate(service) {
    const spec = (service.spec ??= {});
    fillClusterIPs(spec);
    dropInternalPolicy(spec);
  },

  prepareForUpdate(service, old) {
    const spec = (service.spec ??= {});
    const before = old.spec ?? {};
    refillClusterIPs(spec, before);
    refillNodePorts(spec, before);
    dropUnusedFields(service, old);
  },

  validate(service) {
    const spec = service.spec ?? {};
    const errors: FieldError[] = [];
    if (hasNodePorts(spec) && isHeadless(spec))
      errors.push(
        invalid('spec.clusterIPs[0]', noClusterIP, `may not be set to 'None' for ${spec.type} services`),
      );
    if (spec.type === 'ExternalName')
      errors.push(...validateNoAddresses(spec), ...validateExternalName(spec));
    errors.push(
      ...validatePorts(spec),
      ...validateLabels(spec.selector, 'spec.selector'),
      ...validateAffinity(spec),
      ...validateAddresses(spec),
      ...validateExternalIPs(spec),
    );
    if (!types.includes(spec.type ?? '')) errors.push(notSupported('spec.type', spec.type ?? '', types));
    errors.push(...validateBalancer(spec), ...validatePolicies(spec));
    return errors;
  },

  validateUpdate(service, old) {
    const spec = service.spec ?? {};
    const before = old.spec ?? {};
    return [...validateAddressesUpdate(spec, before), ...validateBalancerUpdate(spec, before)];
  },

  warnings: (service) => [...serviceWarnings(service)],

  selectableFields: {
    'spec.clusterIP': (service) => service.spec?.clusterIP ?? '',
    'spec.type': (service) => service.spec?.type ?? '',
  },

  columns: [
    nameColumn,
    { name: 'Type', description: 'How the service can be reached.' },
    { name: 'Cluster-IP', description: 'Address of the service inside the cluster.' },
    { name: 'External-IP', description: 'Where the service can be reached from outside the cluster.' },
    { name: 'Port(s)', description: 'Ports of the service, with the node port and the protocol of each.' },
    ageColumn,
    wide(selectorColumn),
  ],

  cells: (service) => [
    service.metadata.name,
    service.spec?.type,
    orNone(service.spec?.clusterIPs?.[0]),
    externalCell(service),
    orNone((service.spec?.ports ?? []).map(portText).join(',')),
    ageCell(service),
    mapCell(service.spec?.selector),
  ],
});

const portText = ({ port, nodePort, protocol }: ServicePort): string =>
  `${port}${nodePort ? `:${nodePort}` : ''}/${protocol}`;

function externalCell(service: Service): string {
  const spec = service.spec ?? {};
  const external = spec.externalIPs ?? [];
  switch (spec.type) {
    case 'ClusterIP':
    case 'NodePort':
      return orNone(external.join(','));
    case 'LoadBalancer':
      return [...ingressTexts(service), ...external].join(',') || '<pending>';
    case 'ExternalName':
      return spec.externalName ?? '';
    default:
      return '<unknown>';
  }
}
