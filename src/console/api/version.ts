import { z } from 'zod';
import type { Api } from './kit.ts';

const VersionSchema = z.object({ version: z.string(), api: z.literal('v1') });

/** `version`: of the program that answers. */
export function addVersion(api: Api, version: string): void {
  api.get(
    '/version',
    {
      config: { right: 'see' },
      schema: {
        tags: ['console'],
        summary: 'The version of the daemon that answers',
        response: { 200: VersionSchema },
      },
    },
    async () => ({ version, api: 'v1' as const }),
  );
}
