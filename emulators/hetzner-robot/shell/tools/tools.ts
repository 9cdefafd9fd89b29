import type { Program } from '../process.ts';
import { FILE_TOOLS } from './file-tools.ts';
import { SYSTEM_TOOLS } from './system-tools.ts';
import { TEXT_TOOLS } from './text-tools.ts';

/** The usual small programs, as far as scripts of machines use them. */
export const TOOLS: Readonly<Record<string, Program>> = {
  ...FILE_TOOLS,
  ...TEXT_TOOLS,
  ...SYSTEM_TOOLS,
};
