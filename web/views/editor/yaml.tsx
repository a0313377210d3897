/** The object as YAML, to read, with documentation of its fields and who manages them. */
import { useMemo } from 'preact/hooks';
import { changeQuery } from '../../core/router.ts';
import type { TabProps } from '../tab.ts';
import { CodeEditor } from './code-editor.tsx';
import { Managers } from './managers.tsx';
import { readingText } from './object-text.ts';
import { managersOf } from './owners.ts';
import { useSchema } from './schema.ts';

export function Tab({ kind, object, mayEdit }: TabProps) {
  const { resourceVersion } = object.metadata;
  const text = useMemo(() => readingText(kind, object), [resourceVersion]);
  const owners = useMemo(
    () => ({ managers: managersOf(object.metadata.managedFields), object }),
    [resourceVersion],
  );
  return (
    <div class="editing">
      {mayEdit && (
        <div class="editbar">
          <button type="button" title="Key e" onClick={() => changeQuery({ tab: 'edit' }, true)}>
            Edit
          </button>
        </div>
      )}
      <CodeEditor label="YAML" text={text} schema={useSchema(kind)} owners={owners} />
      <Managers managers={owners.managers} />
    </div>
  );
}
