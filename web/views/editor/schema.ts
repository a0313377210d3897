/** The schema of a kind for a component, once it is loaded. Without one, there is only no completion. */
import { useEffect, useState } from 'preact/hooks';
import type { Kind } from '../../core/kinds.ts';
import { type KindSchema, schemaOf } from '../../core/openapi.ts';

export function useSchema(kind: Kind | undefined): KindSchema | undefined {
  const [schema, setSchema] = useState<{ readonly of: string; readonly schema: KindSchema | undefined }>();
  const id = kind?.id;
  useEffect(() => {
    let shown = true;
    if (kind)
      void schemaOf(kind).then(
        (found) => shown && setSchema({ of: kind.id, schema: found }),
        () => undefined,
      );
    return () => {
      shown = false;
    };
  }, [id]);
  return schema?.of === id ? schema?.schema : undefined;
}
