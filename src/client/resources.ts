/** The resources used by clients inside the cluster, with the type of their objects. */
import type {
  CertificateSigningRequest,
  ConfigMap,
  CSINode,
  Endpoints,
  Event,
  Ingress,
  Lease,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Secret,
  Service,
  ServiceAccount,
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
export const secrets = of<Secret>('v1', 'secrets');
export const serviceAccounts = of<ServiceAccount>('v1', 'serviceaccounts');
export const configMaps = of<ConfigMap>('v1', 'configmaps');
export const claims = of<PersistentVolumeClaim>('v1', 'persistentvolumeclaims');
export const volumes = of<PersistentVolume>('v1', 'persistentvolumes');
export const events = of<Event>('v1', 'events');
export const leases = of<Lease>('coordination.k8s.io/v1', 'leases');
export const csiNodes = of<CSINode>('storage.k8s.io/v1', 'csinodes');
export const signingRequests = of<CertificateSigningRequest>(
  'certificates.k8s.io/v1',
  'certificatesigningrequests',
);
export const ingresses = of<Ingress>('extensions/v1beta1', 'ingresses');
