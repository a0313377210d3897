/** The object as YAML, to read. */

import { apiVersionOf } from '../../core/kinds.ts';
import { yamlText } from '../../core/yamltext.ts';
import type { TabProps } from './tabs.ts';

export function Tab({ kind, object }: TabProps) {
  const { managedFields: _, ...metadata } = object.metadata;
  const { apiVersion: _version, kind: _kind, ...rest } = object;
  const shown = { apiVersion: apiVersionOf(kind), kind: kind.kind, ...rest, metadata };
  return (
    <pre class="yaml" tabIndex={0} role="region" aria-label="YAML">
      {yamlText(shown)}
    </pre>
  );
}
