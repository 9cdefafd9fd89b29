import type { z } from 'zod';
import type { Caller } from '../../src/console/api/about.ts';
import type { CellsSchema } from '../../src/console/api/fleet-schema.ts';
import type { Frame as FrameAnswer } from '../../src/console/port.ts';
import type {
  ProviderInFullSchema,
  ProviderSchema,
  SlotSchema,
} from '../../src/console/api/provider-schema.ts';
import type { MachineSchema } from '../../src/console/api/machine-schema.ts';

/** Answers of the API, with the types of its schemas. */
export type { MachineRow } from '../../src/console/api/schemas.ts';
export type Machine = z.output<typeof MachineSchema>;
export type Frame = FrameAnswer;
export type Cells = z.output<typeof CellsSchema>;
export type { PoolSummary, MemberSummary, GuardScope } from '../../src/console/port.ts';
export type Provider = z.output<typeof ProviderSchema>;
export type ProviderInFull = z.output<typeof ProviderInFullSchema>;
export type Slot = z.output<typeof SlotSchema>;
export type { Explanation } from '../../src/domain/explanation/types.ts';
export type { Caller };

/** The part of `fleet` that does not change while the daemon runs. */
export interface About {
  readonly providers: readonly string[];
  readonly mayEraseDisks: readonly string[];
  readonly inspectorUrl: string | null;
  /** Whether admins can inspect actors at this console. */
  readonly inspector: boolean;
}
