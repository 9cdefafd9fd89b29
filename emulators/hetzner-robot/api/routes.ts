import type { Route } from '../core.ts';
import { BOOT_ROUTES } from './boot-routes.ts';
import { KEY_ROUTES } from './key-routes.ts';
import { RESET_ROUTES } from './reset-routes.ts';
import { SERVER_ROUTES } from './server-routes.ts';
import { SIDE_ROUTES } from './side-routes.ts';

export const ROUTES: readonly Route[] = [
  ...SERVER_ROUTES,
  ...RESET_ROUTES,
  ...BOOT_ROUTES,
  ...KEY_ROUTES,
  ...SIDE_ROUTES,
];
