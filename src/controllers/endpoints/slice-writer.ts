/** Carries out plans: creates, changes and deletes the slices of a controller. */

import type { EndpointSlice, OwnerReference } from '../../api/generated/types.ts';
import { endpointAddressErrors } from '../../api/rules/service/endpoint-address.ts';
import { managedByLabel } from '../../api/rules/service/slice-endpoints.ts';
import { semanticEqual } from '../../api/text/object.ts';
import { type ServiceSlices, serviceOf, sliceId } from '../../registry/system/service-slices.ts';
import { collectionOf, targetOf } from '../../registry/target.ts';
import { create } from '../../registry/verbs/create.ts';
import { remove } from '../../registry/verbs/delete.ts';
import { modify } from '../../registry/verbs/modify.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { ifUnchanged, keyOf, type Observation, observe, type SharedContext } from '../shared/controller.ts';
import type { SliceContent, SlicePlan } from './slice-plan.ts';

/** The metadata that all slices made for one object share. */
export interface SliceMetadata {
  readonly generateName: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly owner: OwnerReference;
}

/** A stored slice with its entry. */
export interface StoredSlice extends EndpointSlice {
  readonly entry: Entry;
}

/** The slices of a service that a controller maintains and that are not being deleted. */
export const livingSlices = (
  slices: ServiceSlices,
  controller: string,
  namespace: string,
  service: string,
): StoredSlice[] =>
  slices
    .of(namespace, service)
    .filter((entry) => isManagedBy(entry, controller))
    .map((entry) => ({ ...(entry.object() as EndpointSlice), entry }))
    .filter(({ metadata }) => !metadata.deletionTimestamp);

/** A reference to the object that slices are made for: they are deleted with it. */
export const ownerOf = (
  apiVersion: string,
  kind: string,
  { name, uid }: EndpointSlice['metadata'],
): OwnerReference => ({ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true });

const isManagedBy = ({ labels }: Entry, controller: string): boolean =>
  labels?.[managedByLabel] === controller;

export const isOwnedBy = ({ metadata }: EndpointSlice, { uid }: OwnerReference): boolean =>
  metadata.ownerReferences?.some((reference) => reference.uid === uid) === true;

/** Calls back with the key of the service when a slice of a controller has changed. */
export const observeSlices = (
  context: SharedContext,
  controller: string,
  changed: (key: string) => void,
): Observation =>
  observe(context, sliceId, (entry, previous) => {
    const keys = [entry, previous].flatMap((one) => {
      const service = one && isManagedBy(one, controller) ? serviceOf(one) : undefined;
      return one && service !== undefined ? [keyOf(one.namespace, service)] : [];
    });
    for (const key of new Set(keys)) changed(key);
  });

/**
 * Creates first and deletes last, so that a reader that joins all slices of a service never misses an endpoint. A slice
 * that is gone or taken meanwhile is left out: its change brings the service back to the controller.
 */
export async function writeSlices(
  context: SharedContext,
  namespace: string,
  addressType: string,
  plan: SlicePlan<StoredSlice>,
  metadata: SliceMetadata,
): Promise<void> {
  for (const content of plan.create) await createSlice(context, namespace, addressType, content, metadata);
  for (const { slice, content } of plan.update) await updateSlice(context, slice.entry, content, metadata);
  await removeSlices(context, plan.remove);
}

export async function removeSlices(
  { writing, request }: SharedContext,
  slices: readonly StoredSlice[],
): Promise<void> {
  for (const { entry, metadata } of slices)
    await ifUnchanged(
      remove(writing, request('delete'), targetOf(entry), { preconditions: { uid: metadata.uid } }),
    );
}

async function createSlice(
  context: SharedContext,
  namespace: string,
  addressType: string,
  content: SliceContent,
  metadata: SliceMetadata,
): Promise<void> {
  const { registry, writing, request } = context;
  const kind = registry.kinds.resource('discovery.k8s.io/v1', 'endpointslices')!;
  // Pods that share the network of a machine may have its loopback address, which slices of clients may not have: such
  // a slice is created empty and completed by a write that is not validated.
  const valid = content.endpoints.every(({ addresses = [] }) =>
    addresses.every((ip) => endpointAddressErrors(ip, '').length === 0),
  );
  const { generateName, labels, annotations, owner } = metadata;
  const slice = {
    metadata: {
      generateName,
      labels: { ...labels },
      annotations: { ...annotations },
      ownerReferences: [owner],
    },
    addressType,
    endpoints: valid ? structuredClone([...content.endpoints]) : [],
    ports: structuredClone([...content.ports]),
  };
  const entry = await create(writing, request('create'), collectionOf(kind, namespace), slice);
  if (!valid) await updateSlice(context, entry, content, metadata);
}

async function updateSlice(
  { writing, request }: SharedContext,
  entry: Entry,
  { endpoints, ports }: SliceContent,
  { labels, annotations, owner }: SliceMetadata,
): Promise<void> {
  await ifUnchanged(
    modify(writing, request('update'), targetOf(entry, 'whole'), (current) => {
      const slice = current.object() as EndpointSlice;
      slice.metadata.labels = { ...labels };
      slice.metadata.annotations = { ...annotations };
      slice.metadata.ownerReferences = [owner];
      slice.endpoints = structuredClone([...endpoints]);
      slice.ports = structuredClone([...ports]);
      return slice;
    }),
  );
}

/** A label with an empty value differs from no label. */
export const sameLabels = (
  { metadata: { labels = {} } }: EndpointSlice,
  wanted: Readonly<Record<string, string>>,
): boolean =>
  semanticEqual(Object.keys(labels).sort(), Object.keys(wanted).sort()) &&
  Object.entries(wanted).every(([key, value]) => labels[key] === value);
