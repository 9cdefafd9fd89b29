import type { Controls } from '../controls.ts';
import type { Core } from '../core.ts';
import type { World } from '../world.ts';

/** What the admin routes work with. */
export interface AdminDeps {
  readonly core: Core;
  readonly controls: Controls;
  /** Whether the clock stands still until it is advanced. */
  readonly isManual: boolean;
  /** Answers the new world's tokens and ids. */
  readonly reset: (world: World) => Promise<object>;
  readonly save: () => Promise<void>;
}
