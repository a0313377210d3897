/** Endpoints: the addresses behind a service. */
import type { Endpoints } from '../generated/types.ts';
import { defineKind } from '../kind.ts';

export const endpoints = defineKind<Endpoints>({
  kind: 'Endpoints',
  resource: 'endpoints',
  singular: 'endpoints',
  shortNames: ['ep'],
  namespaced: true,
  createOnUpdate: true,
});
