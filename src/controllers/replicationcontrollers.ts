/** The replication controller: keeps as many pods of a ReplicationController as it asks for. */
import type { ReplicationController } from '../api/generated/types.ts';
import type { Controller } from './controller.ts';
import { Replication } from './replication.ts';
import { mapSelector } from './selectors.ts';

export const replicationController: Controller = {
  name: 'replicationcontroller',
  start: (context) =>
    new Replication<ReplicationController>(context, {
      apiVersion: 'v1',
      resource: 'replicationcontrollers',
      component: 'replication-controller',
      selectorOf: ({ spec }) => mapSelector(spec?.selector),
      countsTerminating: false,
    }).start(),
};
