import type { z } from 'zod';

/** Where an answer is not as agreed: paths and what was expected there; never the value. */
export const placesOf = (error: z.ZodError): string =>
  error.issues
    .slice(0, 5)
    .map((issue) => {
      const expected = issue.code === 'invalid_type' ? ` (expected ${issue.expected})` : '';
      return `${jsonPath(issue.path)}${expected}`;
    })
    .join(', ');

const jsonPath = (path: readonly PropertyKey[]): string =>
  `$${path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('')}`;
