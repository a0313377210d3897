/** NamespaceLifecycle: refuses creates in a namespace that does not exist or is being deleted. */
import { forbidden, namespaceNotFound, namespaceTerminating } from '../../api/errors/errors.ts';
import { Memo } from '../../memo.ts';
import type { AdmissionPlugin } from '../admission-chain.ts';
import type { Entry } from '../view/entry.ts';

/** Namespaces that may not be deleted. */
const protectedNamespaces = new Set(['default', 'kube-system', 'kube-public']);

const deletionMark = Buffer.from('"deletionTimestamp"');

/**
 * Whether a namespace has no deletionTimestamp, found by a search of its JSON without parsing it: every create asks.
 */
const lasting = new Memo(({ document }: Entry) => !document.includes(deletionMark));

export const namespaceLifecycle: AdmissionPlugin = {
  name: 'NamespaceLifecycle',
  asksForNamespaces: true,

  mutate(registry, { operation, target }) {
    const { kind, namespace, name } = target;
    if (operation !== 'create' || !kind.namespaced) return;
    const entry = registry.view.collection('core/namespaces').get('', namespace);
    if (!entry) throw namespaceNotFound(namespace);
    if (lasting.of(entry)) return;
    if (entry.object().metadata.deletionTimestamp) throw namespaceTerminating(kind, name, namespace);
  },

  validate(_registry, { operation, target: { kind, name } }) {
    if (operation === 'delete' && kind.id === 'core/namespaces' && protectedNamespaces.has(name))
      throw forbidden(kind, name, 'this namespace may not be deleted');
  },
};
