/** Printer columns: what `kubectl get` shows of custom objects. */

import type {
  CustomResourceColumnDefinition,
  CustomResourceDefinitionVersion,
} from '../../api/generated/types.ts';
import type { Column, KindForm } from '../../api/kind/kind.ts';
import { goFormat } from '../../api/model/go-format.ts';
import { nameColumn } from '../../api/rules/shared/columns.ts';
import { type JsonPath, JsonPathError, parseJsonPath } from '../../api/text/json-path.ts';
import { jsonText } from '../../api/text/json-text.ts';
import { type ApiObject, withSortedKeys } from '../../api/text/object.ts';
import { htmlSafe } from '../../api/text/string-text.ts';
import { type Cell, elapsed } from '../../api/values/elapsed.ts';
import { TimeError, timeToMs } from '../../api/values/time.ts';

type CellReader = (object: ApiObject) => Cell;

const ageDefinition: CustomResourceColumnDefinition = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
};

/** The columns of a version; without any, the age. They end before one whose path cannot be read. */
export function printerColumns({
  additionalPrinterColumns: defined = [],
}: CustomResourceDefinitionVersion): Pick<KindForm<ApiObject>, 'columns' | 'cells'> {
  const definitions = defined.length ? defined : [ageDefinition];
  const cells: CellReader[] = [];
  try {
    for (const definition of definitions) cells.push(cellOf(definition));
  } catch (error) {
    if (!(error instanceof JsonPathError)) throw error;
  }
  return {
    columns: [nameColumn, ...definitions.slice(0, cells.length).map(columnOf)],
    cells: (object) => [object.metadata.name, ...cells.map((cell) => cell(object))],
  };
}

const columnOf = (definition: CustomResourceColumnDefinition): Column => {
  const { name = '', type, format, description, priority = 0, jsonPath } = definition;
  return {
    name,
    type: type as Column['type'],
    format: format ?? '',
    description: description || `Custom resource definition column (in JSONPath format): ${jsonPath}`,
    priority,
  };
};

function cellOf({ jsonPath = '', type = 'string' }: CustomResourceColumnDefinition): CellReader {
  const path = parseJsonPath(jsonPath);
  return (object) => cellValue(path, type, object);
}

function cellValue(path: JsonPath, type: string, object: ApiObject): Cell {
  const value = path.find(object)[0];
  if (value === undefined) return null;
  if (value === null) return type === 'string' ? noValue : null;
  switch (type) {
    case 'integer':
      if (typeof value === 'bigint') return value;
      return typeof value === 'number' ? Math.trunc(value) : null;
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint' ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'date':
      return typeof value === 'string' ? dateCell(value) : null;
    default:
      return typeof value === 'object'
        ? htmlSafe(jsonText(withSortedKeys(value)))
        : goFormat(value, Infinity);
  }
}

/** How Go's templates print null. */
const noValue = '<no value>';

/** A cell with an age. An empty date is unknown; so is `null`, which old clients wrote. */
function dateCell(value: string): Cell {
  if (value === '' || value === 'null') return elapsed(undefined);
  try {
    timeToMs(value);
  } catch (error) {
    if (error instanceof TimeError) return '<invalid>';
    throw error;
  }
  return elapsed(value);
}
