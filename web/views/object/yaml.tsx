/** The object as YAML, to read. */

import { apiVersionOf } from '../../core/kinds.ts';
import { yamlText } from '../../core/yamltext.ts';
import type { TabProps } from './tabs.ts';

export function Tab({ kind, object }: TabProps) {
  const { managedFields: _, ...metadata } = object.metadata;
  const { apiVersion: _version, kind: _kind, metadata: _metadata, ...withoutMetadata } = object;
  const shown = { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata, ...withoutMetadata };
  return (
    <pre class="yaml" tabIndex={0} role="region" aria-label="YAML">
      {yamlText(shown)}
    </pre>
  );
}
