/** The resources used by clients inside the cluster, with the type of their objects. */
import type {
  CertificateSigningRequest,
  ConfigMap,
  CSINode,
  EndpointSlice,
  Endpoints,
  Event,
  Ingress,
  IngressClass,
  Lease,
  Namespace,
  NetworkPolicy,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  RuntimeClass,
  Secret,
  Service,
  ServiceAccount,
  ServiceCIDR,
} from '../api/generated/types.ts';

/** `T` is the type of the objects. */
export interface Resource<T> {
  readonly apiVersion: string;
  readonly resource: string;
  /** Never set; only carries the type. */
  readonly object?: T;
}

const of = <T>(apiVersion: string, resource: string): Resource<T> => ({ apiVersion, resource });

export const pods = of<Pod>('v1', 'pods');
export const nodes = of<Node>('v1', 'nodes');
export const services = of<Service>('v1', 'services');
export const endpoints = of<Endpoints>('v1', 'endpoints');
export const endpointSlices = of<EndpointSlice>('discovery.k8s.io/v1', 'endpointslices');
export const secrets = of<Secret>('v1', 'secrets');
export const serviceAccounts = of<ServiceAccount>('v1', 'serviceaccounts');
export const configMaps = of<ConfigMap>('v1', 'configmaps');
export const claims = of<PersistentVolumeClaim>('v1', 'persistentvolumeclaims');
export const volumes = of<PersistentVolume>('v1', 'persistentvolumes');
export const events = of<Event>('v1', 'events');
export const leases = of<Lease>('coordination.k8s.io/v1', 'leases');
export const csiNodes = of<CSINode>('storage.k8s.io/v1', 'csinodes');
export const runtimeClasses = of<RuntimeClass>('node.k8s.io/v1', 'runtimeclasses');
export const signingRequests = of<CertificateSigningRequest>(
  'certificates.k8s.io/v1',
  'certificatesigningrequests',
);
export const ingressClasses = of<IngressClass>('networking.k8s.io/v1', 'ingressclasses');
export const networkPolicies = of<NetworkPolicy>('networking.k8s.io/v1', 'networkpolicies');
export const serviceCidrs = of<ServiceCIDR>('networking.k8s.io/v1', 'servicecidrs');
export const namespaces = of<Namespace>('v1', 'namespaces');
export const ingresses = of<Ingress>('extensions/v1beta1', 'ingresses');
