/** The messages of etcd's API that the store uses. Fields that it does not use are neither written nor read. */
import { MessageReader } from '../../api/protobuf/message-reader.ts';
import { MessageWriter } from '../../api/protobuf/message-writer.ts';

export const RANGE = '/etcdserverpb.KV/Range';
export const TXN = '/etcdserverpb.KV/Txn';
export const PUT = '/etcdserverpb.KV/Put';
export const DELETE_RANGE = '/etcdserverpb.KV/DeleteRange';
export const COMPACT = '/etcdserverpb.KV/Compact';
export const WATCH = '/etcdserverpb.Watch/Watch';
export const LEASE_GRANT = '/etcdserverpb.Lease/LeaseGrant';
export const LEASE_REVOKE = '/etcdserverpb.Lease/LeaseRevoke';
export const LEASE_KEEP_ALIVE = '/etcdserverpb.Lease/LeaseKeepAlive';
export const STATUS = '/etcdserverpb.Maintenance/Status';

export interface KeyValue {
  readonly key: Buffer;
  readonly value: Buffer;
  readonly modRevision: number;
}

export interface RangeRequest {
  readonly key: Buffer;
  /** End of the range (exclusive); undefined reads this key alone. */
  readonly end?: Buffer;
  readonly limit?: number;
  /** State at this revision; undefined is now. */
  readonly revision?: number;
  readonly keysOnly?: boolean;
}

export interface RangeAnswer {
  readonly items: readonly KeyValue[];
  /** Whether there are more keys than the limit. */
  readonly more: boolean;
  /** The revision of the whole etcd when it answered. */
  readonly revision: number;
}

export interface TxnRequest {
  /** All keys must be at these revisions; 0: the key must not exist. */
  readonly compare: readonly { readonly key: Buffer; readonly revision: number }[];
  readonly puts?: readonly {
    readonly key: Buffer;
    readonly value: Buffer;
    readonly lease?: number | undefined;
  }[];
  readonly deletes?: readonly Buffer[];
  /** Keys that are read if a comparison failed. */
  readonly otherwise: readonly Buffer[];
}

export interface TxnAnswer {
  readonly succeeded: boolean;
  readonly revision: number;
  /** For each key of `otherwise`; undefined when it does not exist. */
  readonly read: readonly (KeyValue | undefined)[];
}

export interface EtcdEvent {
  readonly deleted: boolean;
  readonly key: Buffer;
  /** Empty for a deletion. */
  readonly value: Buffer;
  readonly modRevision: number;
}

export interface WatchAnswer {
  readonly canceled: boolean;
  readonly reason: string;
  /** Above 0: the wanted revision was compacted, and this one is the oldest that can be read. */
  readonly compactRevision: number;
  readonly events: readonly EtcdEvent[];
}

export interface StatusAnswer {
  readonly clusterId: string;
  readonly version: string;
  /** False while the member does not know a leader. */
  readonly hasLeader: boolean;
  readonly isLeader: boolean;
  readonly isLearner: boolean;
  readonly bytesInUse: number;
}

function rangeMessage({ key, end, limit, revision, keysOnly }: RangeRequest): MessageWriter {
  const message = new MessageWriter().bytes(1, key);
  if (end) message.bytes(2, end);
  if (limit) message.number(3, limit);
  if (revision) message.number(4, revision);
  if (keysOnly) message.number(8, 1);
  return message;
}

export const encodeRange = (request: RangeRequest): Buffer => rangeMessage(request).finish();

function putMessage(key: Buffer, value: Buffer, lease?: number): MessageWriter {
  const message = new MessageWriter().bytes(1, key).bytes(2, value);
  return lease ? message.number(3, lease) : message;
}

export const encodePut = (key: Buffer, value: Buffer, lease?: number): Buffer =>
  putMessage(key, value, lease).finish();

export function encodeTxn({ compare, puts = [], deletes = [], otherwise }: TxnRequest): Buffer {
  const message = new MessageWriter();
  // Compares for equality (0, the default) with the modification revision (2). In a `oneof`, a 0 must be written, too.
  for (const { key, revision } of compare)
    message.message(1, new MessageWriter().number(2, 2).bytes(3, key).number(6, revision));
  for (const { key, value, lease } of puts)
    message.message(2, new MessageWriter().message(2, putMessage(key, value, lease)));
  for (const key of deletes)
    message.message(2, new MessageWriter().message(3, new MessageWriter().bytes(1, key)));
  for (const key of otherwise) message.message(3, new MessageWriter().message(1, rangeMessage({ key })));
  return message.finish();
}

/** Deletes a key, or all keys up to an end. */
export function encodeDeleteRange(key: Buffer, end?: Buffer): Buffer {
  const message = new MessageWriter().bytes(1, key);
  return (end ? message.bytes(2, end) : message).finish();
}

export const encodeCompact = (revision: number): Buffer => new MessageWriter().number(1, revision).finish();

export const encodeWatch = (key: Buffer, end: Buffer, startRevision: number): Buffer =>
  new MessageWriter()
    .message(1, new MessageWriter().bytes(1, key).bytes(2, end).number(3, startRevision))
    .finish();

export const encodeLeaseGrant = (seconds: number, id: number): Buffer =>
  new MessageWriter().number(1, seconds).number(2, id).finish();

export const encodeLease = (id: number): Buffer => new MessageWriter().number(1, id).finish();

function readIds(header: MessageReader): { clusterId: string; memberId: string } {
  let clusterId = '0';
  let memberId = '0';
  while (header.next())
    if (header.field === 1) clusterId = header.id();
    else if (header.field === 2) memberId = header.id();
    else header.skip();
  return { clusterId, memberId };
}

function readRevision(header: MessageReader): number {
  let revision = 0;
  while (header.next())
    if (header.field === 3) revision = header.number();
    else header.skip();
  return revision;
}

const noBytes: Buffer = Buffer.alloc(0);

function readKeyValue(reader: MessageReader): KeyValue {
  let key = noBytes;
  let value = noBytes;
  let modRevision = 0;
  while (reader.next())
    if (reader.field === 1) key = reader.bytes();
    else if (reader.field === 3) modRevision = reader.number();
    else if (reader.field === 5) value = reader.bytes();
    else reader.skip();
  return { key, value, modRevision };
}

/** The revision in the header of an answer. */
export function decodeRevision(message: Buffer): number {
  const reader = new MessageReader(message);
  while (reader.next()) {
    if (reader.field === 1) return readRevision(reader.message());
    reader.skip();
  }
  return 0;
}

export const decodeRange = (message: Buffer): RangeAnswer => readRange(new MessageReader(message));

function readRange(reader: MessageReader): RangeAnswer {
  const items: KeyValue[] = [];
  let more = false;
  let revision = 0;
  while (reader.next())
    if (reader.field === 1) revision = readRevision(reader.message());
    else if (reader.field === 2) items.push(readKeyValue(reader.message()));
    else if (reader.field === 3) more = reader.number() !== 0;
    else reader.skip();
  return { items, more, revision };
}

export function decodeTxn(message: Buffer): TxnAnswer {
  const reader = new MessageReader(message);
  const read: (KeyValue | undefined)[] = [];
  let succeeded = false;
  let revision = 0;
  while (reader.next())
    if (reader.field === 1) revision = readRevision(reader.message());
    else if (reader.field === 2) succeeded = reader.number() !== 0;
    else if (reader.field === 3) {
      const response = reader.message();
      while (response.next())
        if (response.field === 1) read.push(readRange(response.message()).items[0]);
        else response.skip();
    } else reader.skip();
  return { succeeded, revision, read };
}

function readEvent(reader: MessageReader): EtcdEvent {
  let deleted = false;
  let stored: KeyValue = { key: noBytes, value: noBytes, modRevision: 0 };
  while (reader.next())
    if (reader.field === 1) deleted = reader.number() === 1;
    else if (reader.field === 2) stored = readKeyValue(reader.message());
    else reader.skip();
  return { deleted, ...stored };
}

export function decodeWatch(message: Buffer): WatchAnswer {
  const reader = new MessageReader(message);
  const events: EtcdEvent[] = [];
  let canceled = false;
  let reason = '';
  let compactRevision = 0;
  while (reader.next())
    if (reader.field === 4) canceled = reader.number() !== 0;
    else if (reader.field === 5) compactRevision = reader.number();
    else if (reader.field === 6) reason = reader.text();
    else if (reader.field === 11) events.push(readEvent(reader.message()));
    else reader.skip();
  return { canceled, reason, compactRevision, events };
}

/** The seconds a lease still has; 0: there is no such lease. */
export function decodeKeepAlive(message: Buffer): number {
  const reader = new MessageReader(message);
  let seconds = 0;
  while (reader.next())
    if (reader.field === 3) seconds = reader.number();
    else reader.skip();
  return seconds;
}

export function decodeStatus(message: Buffer): StatusAnswer {
  const reader = new MessageReader(message);
  let header = { clusterId: '0', memberId: '0' };
  let version = '';
  let leader = '0';
  let isLearner = false;
  let bytesInUse = 0;
  while (reader.next())
    if (reader.field === 1) header = readIds(reader.message());
    else if (reader.field === 2) version = reader.text();
    else if (reader.field === 4) leader = reader.id();
    else if (reader.field === 9) bytesInUse = reader.number();
    else if (reader.field === 10) isLearner = reader.number() !== 0;
    else reader.skip();
  const { clusterId, memberId } = header;
  return {
    clusterId,
    version,
    hasLeader: leader !== '0',
    isLeader: leader === memberId,
    isLearner,
    bytesInUse,
  };
}
