/** The replication controller: keeps the requested number of pods of a ReplicationController. */
import type { ReplicationController } from '../../api/generated/types.ts';
import type { Controller } from '../shared/controller.ts';
import { mapSelector } from '../shared/selectors.ts';
import { Replication } from './replication.ts';

export const replicationController: Controller = {
  name: 'replicationcontroller',
  writer: 'replication-controller',
  start: (context) =>
    new Replication<ReplicationController>(context, {
      apiVersion: 'v1',
      resource: 'replicationcontrollers',
      component: 'replication-controller',
      selectorOf: ({ spec }) => mapSelector(spec?.selector),
      countsTerminating: false,
    }).start(),
};
