/**
 * A copy: a cluster whose objects are those of another one. Nothing in it changes by itself: no objects of its own are made,
 * no controllers run, and definitions are served as they are.
 */
import { StatusError } from '../../api/errors/errors.ts';
import type { Kind } from '../../api/kind/kind.ts';
import type { HistoryGap } from '../../registry/view/history-gap.ts';
import type { ReadPast } from '../../registry/view/stored-event.ts';
import type { Step } from '../../server/chain/step.ts';
import { answerValue } from '../../server/http/answer.ts';
import type { Exposition } from '../../server/observe/exposition.ts';
import type { KeptLogSource } from '../../server/pods/kept-log.ts';
import type { ServerInstruments } from '../../server/server.ts';
import type { Store } from '../../store/store.ts';
import type { VersionedStoreOptions } from '../../store/versioned.ts';

export interface Copy {
  /** What it is a copy of, for people: `the dump incident.tar.gz`. */
  readonly about: string;
  readonly isWritable: boolean;
  /** Opens the store; undefined: the options say which it is. */
  openStore?(options: VersionedStoreOptions): Store | Promise<Store>;
  /** For a long history: reads old states from the store. */
  readonly past?: ReadPast | undefined;
  /** Times in which nothing was seen of a cluster that is recorded, oldest first. */
  gaps?(): readonly HistoryGap[];
  /** What clients learn of a recording, at the place where they learn that this is a copy. */
  recording?(): object;
  /** Writes metrics of the recording. */
  metrics?(out: Exposition): void;
  /** Kinds that no definition explains. */
  readonly kinds: readonly Kind[];
  /** Logs of its containers. */
  readonly logs?: KeptLogSource | undefined;
}

/** Where clients learn that a server shows a copy. */
const copyPath = '/wherry/copy';
/** Groups whose objects are questions: nothing is stored. */
const questions: ReadonlySet<string> = new Set(['authorization.k8s.io', 'authentication.k8s.io']);
const connections: ReadonlySet<string> = new Set(['exec', 'attach', 'portforward', 'proxy']);

/** Refuses writes and connections, and says what the copy is. */
export function copyInstruments(copy: Copy): ServerInstruments {
  const { about, isWritable } = copy;
  const step: Step = ({ info: { resource, readOnly } }) => {
    if (!resource) return;
    if (connections.has(resource.subresource ?? '') || resource.proxy)
      throw refused(`this is a copy of ${about}: nothing runs in it that could be connected to`);
    if (readOnly || isWritable || questions.has(resource.group)) return;
    throw refused(`this is a read-only copy of ${about}: nothing can be changed in it`);
  };
  return {
    step,
    watched: () => undefined,
    metrics: (out) => copy.metrics?.(out),
    gaps: () => copy.gaps?.() ?? [],
    copy: { about, isWritable },
    page: async (context) => {
      if (context.info.path !== copyPath || context.info.method !== 'GET') return false;
      const recording = copy.recording?.();
      const value = {
        kind: 'Copy',
        apiVersion: 'wherry.dev/v1',
        about,
        isWritable,
        ...(recording && { recording }),
      };
      await answerValue(context, 200, value, { ...context.negotiate('none'), transform: undefined });
      return true;
    },
  };
}

const refused = (message: string): StatusError => new StatusError(403, 'Forbidden', message, {});
