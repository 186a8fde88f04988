FROM node:24.21.0-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# With the optional packages: the bundler's program is one of them.
RUN ["npm", "ci", "--ignore-scripts"]
COPY tsconfig.json ./
COPY .ci/bundle.js .ci/start.cjs .ci/health.sh .ci/
COPY src src
COPY sql sql
COPY collections collections
COPY schema schema
RUN ["npm", "run", "bundle"]

FROM node:24.21.0-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000
WORKDIR /app
COPY package.json LICENSE ./
COPY --from=build /app/dist/plinth.cjs /app/dist/plinth.cache /app/dist/start.cjs /app/dist/health.sh /app/dist/health.cjs /app/dist/mcp-sdk.cjs /app/dist/issuer-packages.cjs /app/dist/bcrypt.node dist/
COPY --from=build /app/collections collections
USER 1000:1000
EXPOSE 3000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s --retries=3 CMD ["bash", "dist/health.sh"]
CMD ["node", "dist/start.cjs"]
