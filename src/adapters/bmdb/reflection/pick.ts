import type { InspectedMachine } from '../port.ts';
import { fieldAt } from './messages.ts';

/** One value of a machine, and where it was found: `HardwareReport.report.cpu[0].cores`. */
export interface PickedField {
  readonly place: string;
  readonly value: string;
}

/**
 * Every value that a path means: a column of a tag (`provider_id`) or a field of a message that
 * a column holds (`report.cpu[0].cores`). With the tag's name in front (`Provided.provider_id`) it
 * means at most one.
 */
export const pickFields = (tags: InspectedMachine['tags'], path: string): PickedField[] =>
  Object.entries(tags).flatMap(([tag, fields]) => {
    const inner = path.startsWith(`${tag}.`) ? path.slice(tag.length + 1) : path;
    const place = `${tag}.${inner}`;
    const column = fields.find(({ name }) => name === inner);
    if (column) return [{ place, value: column.value }];
    return fields.flatMap(({ message }) => {
      const value = message ? fieldAt(message, inner) : null;
      return value === null ? [] : [{ place, value }];
    });
  });
