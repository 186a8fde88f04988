import { declare } from '../../support/collections.js';
import { testService } from '../../support/service.js';
import t from '../../support/test.js';
import { PageVisitor } from './visitor.js';

t.test(
  'a list shows related records, their numbers and excerpts, and a record its related ones',
  async (t) => {
    const collections = declare(t, {
      'authors.json': { title: 'Author', type: 'object', properties: { name: { type: 'string' } } },
      'books.json': {
        title: 'Book',
        type: 'object',
        properties: {
          title: { type: 'string', 'x-index': true },
          text: { type: 'string', 'x-search': 'words' },
          authorId: { type: 'string', 'x-references': 'authors' },
        },
      },
    });
    const service = await testService(t, { COLLECTIONS: collections, MIGRATE: 'auto' });
    const author = (await service.send('POST', '/authors', { body: { name: 'Ann <b>' } })).json;
    const texts = [
      'the mock <mark>turtle</mark> & "soup"',
      // A page with this record is streamed.
      `turtle ${'soup '.repeat(20_000)}`,
    ];
    const books = [];
    for (const [index, text] of texts.entries())
      books.push(
        (
          await service.send('POST', '/books', {
            // A stored field with this name is no excerpt.
            body: { title: `b${index}`, text, authorId: author.id, _excerpts: { title: '<mark>x</mark>' } },
          })
        ).json,
      );
    const visitor = new PageVisitor(service);
    const cells = (text: string, name: string) =>
      [...text.matchAll(new RegExp(`data-label="${name}">(.*?)</td>`, 'gs'))].map(([, cell]) => cell);
    const titles = (text: string) =>
      [...text.matchAll(/<th scope="row"><a [^>]*>([^<]*)</g)].map(([, title]) => title);
    const link = `<a href="/authors/${author.id}">Ann &#60;b&#62;</a>`;
    const list = (await visitor.get('/books?include=author&fields=title')).text;
    t.same(cells(list, 'Author'), [link, link]);
    t.same(titles(list), ['b0', 'b1']);
    const authors = (await visitor.get('/authors?include=books,books.count')).text;
    const linkTo = ({ id, title }: { id: string; title: string }) => `<a href="/books/${id}">${title}</a>`;
    t.same(cells(authors, 'Books'), [books.map(linkTo).join(', ')]);
    t.same(cells(authors, 'Books.count'), ['2']);
    const found = (await visitor.get('/books?search=turtle&excerpts=true')).text;
    t.match(cells(found, 'Text')[0], '&#60;mark&#62;<mark>turtle</mark>&#60;/mark&#62; &#38; &#34;soup');
    t.match(cells(found, 'Text')[1], /^<mark>turtle<\/mark> soup/);
    t.same(titles(found), ['b0', 'b1']);
    t.notMatch((await visitor.get('/books?search=turtle')).text, '<mark>');
    const one = await visitor.get(`/books/${books[0].id}?include=author&fields=title`);
    t.equal(one.status, 200);
    t.match(one.text, /<th scope="row">_included<\/th><td><pre>[^<]*Ann &#60;b&#62;/);
    t.notMatch(one.text, /\?_edit/, 'a part of a record cannot be edited');
    t.equal((await visitor.get(`/books/${books[0].id}?include=editor`)).status, 400);
  },
);
