import { useEffect, useRef, type ReactNode, type RefObject } from 'react';

export interface TableProps {
  /** The name of the table for screen readers. */
  readonly label: string;
  readonly columns: readonly string[];
  /** Indexes of columns with figures. */
  readonly figures?: readonly number[];
  /** Rows of it. */
  readonly children: ReactNode;
}

export interface ScrollsProps extends Pick<TableProps, 'label' | 'children'> {
  /** Lets the caller scroll the frame. */
  readonly frame?: RefObject<HTMLDivElement | null>;
}

/** Scrolls content that is wider than the page. A shadow marks the side where the content continues. */
export function Scrolls({ label, frame, children }: ScrollsProps) {
  const own = useRef<HTMLDivElement>(null);
  const ref = frame ?? own;
  useEffect(() => {
    const element = ref.current!;
    const mark = () => {
      const { scrollLeft, clientWidth, scrollWidth } = element;
      element.toggleAttribute('data-before', scrollLeft > 1);
      element.toggleAttribute('data-after', scrollLeft + clientWidth < scrollWidth - 1);
    };
    const sizes = new ResizeObserver(mark);
    for (const each of [element, ...element.children]) sizes.observe(each);
    element.addEventListener('scroll', mark, { passive: true });
    return () => {
      sizes.disconnect();
      element.removeEventListener('scroll', mark);
    };
  }, []);
  return (
    <div className="scrolls" ref={ref} tabIndex={0} role="group" aria-label={label}>
      {children}
    </div>
  );
}

/** A table in a scrolling frame. */
export const Table = ({ label, columns, figures = [], children }: TableProps) => (
  <Scrolls label={label}>
    <table>
      <thead>
        <tr>
          {columns.map((column, at) =>
            column === '' ? (
              <td key={column} />
            ) : (
              <th key={column} scope="col" className={figures.includes(at) ? 'number' : undefined}>
                {column}
              </th>
            ),
          )}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </Scrolls>
);
