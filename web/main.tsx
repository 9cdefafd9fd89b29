import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { RequestRefusal } from './api/ask.ts';
import './frame/theme.ts';
import { startTicking } from './live/clock.ts';
import { startConnection } from './live/connection.ts';
import { router } from './router.tsx';

/** Retries after a broken connection, but not after an answer: the console would answer the same again. */
const retry = (failures: number, error: Error): boolean =>
  !(error instanceof RequestRefusal) && failures < 2;
const queries = new QueryClient({ defaultOptions: { queries: { retry } } });
startConnection();
startTicking();
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
